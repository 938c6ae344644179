@0xfacf9b9513dc3463;
# Types that the other schemas share.
#
# A message is one Cap'n Proto struct in one segment, in the standard framing (a word that says "one segment, so many words",
# then the words): a recorded stream is read by `capnp decode FILE.capnp Message`. A reader refuses several segments, far
# pointers, lists of another element size than its own schema says, pointers that leave the message, and messages that grow by
# pointing at the same words again.

annotation prefix @0xd3cc615668af0a49 (file) :Text;
# The prefix of a file's C names, behind "ath_". Without this annotation the prefix is the file's name.

annotation outerMessages @0xc1a9d27be0354f68 (file) :Void;
# Only structs that no other struct contains are messages: in C the others cannot be opened or started as one.

struct Version {
  major @0 :UInt16;
  minor @1 :UInt16;
  patch @2 :UInt16;
}

struct Failure {
  # Why a request was not done.
  code @0 :FailureCode;
  message @1 :Text;  # for people, English
}

enum FailureCode {
  unknown @0;
  notSupported @1;  # the request is known, or of a later protocol, and this server does not do it
  notFound @2;
  internal @3;
}
