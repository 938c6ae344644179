/* Words and meanings of states, steps, outcomes and kinds of what `clean` removes. */
#include "config.h"

#include "container/engine/engine.h"

#include "base/i18n.h"

struct word {
    const char *word, *meaning;
};

#define X(name, word, meaning) { word, meaning },
static const struct word state_words[] = { ATH_NODE_STATE_TABLE(X) };
static const struct word step_words[] = { ATH_ENGINE_STEP_TABLE(X) };
static const struct word outcome_words[] = { ATH_START_OUTCOME_TABLE(X) };
#undef X
#define X(name, word) word,
static const char *const clean_words[] = { ATH_CLEAN_KIND_TABLE(X) };
#undef X

const char *ath_node_state_word(enum ath_node_state state)
{
    return state_words[state].word;
}

const char *ath_node_state_meaning(enum ath_node_state state)
{
    return state_words[state].meaning;
}

const char *ath_engine_step_word(enum ath_engine_step step)
{
    return step_words[step].word;
}

const char *ath_engine_step_meaning(enum ath_engine_step step)
{
    return step_words[step].meaning;
}

const char *ath_start_outcome_word(enum ath_start_outcome outcome)
{
    return outcome_words[outcome].word;
}

const char *ath_start_outcome_meaning(enum ath_start_outcome outcome)
{
    return outcome_words[outcome].meaning;
}

const char *ath_clean_kind_word(enum ath_clean_kind kind)
{
    return clean_words[kind];
}
