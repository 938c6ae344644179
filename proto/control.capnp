@0xf1e07a8e927c0675;
# How a session begins, and what a control session asks. Each frame is one Message.
#
#     client                                server
#     hello      version, purpose, key's name, nonce -->
#                                        <-- challenge   version, nonce, whether a key is wanted
#     proof      HMAC of all that so far -->
#                                        <-- welcome     HMAC of that and of the client's: the server has the key as well
#     requests                           -->
#                                        <-- answers, one each, in order
#
# Requests may follow the proof at once, before the welcome: a program's first one (openChannel) does, and takes no round trip.
#
# Both proofs are HMAC-SHA-256 with the shared key over: a label of the side ("aitherion client 1" or "aitherion server 1", with
# its NUL byte), the frame of hello, the frame of challenge (each whole, with its length in front as 8 bytes, little-endian), and
# for the server the client's proof. Nonces are fresh, so neither side's proof is worth anything again. Without a key on both
# sides proofs are empty. Instead of its next message the server may send a refusal, and the session is over.
#
# On TCP all of this may run inside TLS 1.3 (src/remote/tls/policy.h says when). TLS begins with the first byte, 0x16, where a frame
# has 0. Its handshake proves the key already: the PSK is HMAC-SHA-256 with the shared key over "aitherion tls 1" with its NUL byte
# and four bytes of 0, and the PSK's identity is keyName, or "default". The proofs then also cover what TLS exports with the label
# EXPORTER-Channel-Binding (RFC 9266), in front of the client's proof, and the ticket's HMAC ends with what it exports with
# EXPORTER-aitherion-ticket. A server that does not want TLS answers it with a refusal, as a plain frame. A client that wants a
# certificate offers no PSK; then TLS proves no key, and all else is the same.
#
# A program's session may have more connections, which carry shares of its large frames (src/remote/transport/tcp.c). On each
# of those the client says one thing, a join, and nothing is answered there: the answer to openChannel says whether all came.
# A join's proof is HMAC-SHA-256 of the connection's number (4 bytes, little-endian) with the session's ticket as the key, which
# never travels: HMAC-SHA-256 with the shared key (of no bytes where there is none) over "aitherion ticket 1" with its NUL byte
# and the session's own hello and challenge, as above. In a session with TLS a plain join comes first there, too. The rest of that
# connection is TLS with a PSK from the ticket (ath_ticket_tls_key()).
#
# A server may have addresses for data alone, and its challenge names them. Then the client makes these connections to them, and not
# to the address of the first one, except the last one. A data address takes joins only. If all joins but the last came by data
# addresses, the answer to openChannel says so (hasPieces): large frames then travel in pieces on those connections alone, and the
# last one has the verdicts about them (src/remote/transport/channels.h). A connection that is lost then may join again: its number
# is the one before and the number of all joins in openChannel, and behind its TLS, if there is any, the server sends one byte.
using Common = import "common.capnp";
using Gpu = import "gpu-control.capnp";
using Nvml = import "nvml-wire.capnp";
$Common.prefix("control");

const protocolVersion :UInt32 = 3;   # of these messages; a new field needs no new version, another meaning does
const nonceBytes :UInt32 = 32;
const proofBytes :UInt32 = 32;
const helloFrameBytes :UInt32 = 4096;    # the most that a frame has before the peer is proven
const answerFrameBytes :UInt32 = 1048576; # and the most in a control session

struct Message {
  union {
    none @0 :Void;
    hello @1 :Hello;
    challenge @2 :Challenge;
    proof @3 :Proof;
    welcome @4 :Welcome;
    refusal @5 :Refusal;

    getHealth @6 :Void;
    health @7 :Health;
    getDevices @8 :Void;
    devices @9 :Gpu.DeviceList;
    getSessions @10 :Void;
    sessions @11 :Gpu.SessionList;
    endSession @12 :UInt64;              # a session's id
    limitSession @13 :Gpu.SessionLimit;
    done @14 :Void;
    failure @15 :Common.Failure;

    openChannel @16 :OpenChannel;        # in a session of a program, the first question
    channel @17 :Channel;

    nvml @18 :Nvml.Calls;
    nvmlAnswers @19 :Nvml.Answers;

    join @20 :Join;                      # in place of a hello

    limitServer @21 :Float64;            # the part of each GPU's memory for all sessions together; only for the server's own user

    getFigures @22 :Void;
    figures @23 :Gpu.Figures;

    changeClaim @24 :Gpu.ClaimChange;    # answered by done

    books @25 :BooksQuestion;            # of a program with the transport local
    booksAnswer @26 :BooksAnswer;

    reserve @27 :UInt64;                 # a bit for each device of DeviceList, for a program that is about to begin: answered by done, or by a
                                         # failure (notFound) if a session uses one of them or another client has reserved it

    netTest @28 :NetTest;                # in a session for tests of the network: answered by netTestDone before its bytes and behind them
    netTestDone @29 :NetTestDone;
  }
}

struct Hello {
  protocol @0 :UInt32;             # the newest that the client speaks
  protocolMin @1 :UInt32;          # and the oldest
  software @2 :Text;               # "aitherion 0.1.0"
  purpose @3 :Gpu.Purpose;
  nonce @4 :Data;
  hasKey @5 :Bool;                 # the client will prove the key, and wants the server to
  transports @6 :List(Transport);  # that the client could use for what follows; control sessions stay where they are
  keyName @7 :Text;                # the name of the key, at most 63 bytes (src/base/key_name.h); empty: the server's only or default key
  host @8 :Text;                   # of the client's process, as it calls itself, for people; so is the next
  process @9 :UInt32;
}

struct Challenge {
  protocol @0 :UInt32;             # the one that is spoken from here on
  software @1 :Text;
  nonce @2 :Data;
  wantsKey @3 :Bool;
  transports @4 :List(Transport);
  session @5 :UInt64;              # its number, for connections that join it; 0: the server tells it in the welcome alone
  dataAddresses @6 :Text;          # "10.0.1.1:5555,[fd00::1]:5555", at most 8; empty: none, as older servers have it
  udpPort @7 :UInt16;              # of the server's address, by which connections may join as well (src/remote/udp/carrier.h); 0: none
  hasDataUdp @8 :Bool;             # connections may join by UDP at the data addresses, too, at the same ports
}

enum Transport {
  tcp @0;
  shm @1;
  udp @2;
  rdma @3;
  local @4;                        # nowhere: the program has the GPUs in its own process, and asks what it may take of them
}

struct OpenChannel {
  # How the calls of a program (its session's purpose says which) are to travel from here on. After the answer the connection
  # carries frames of those, or with shm the descriptors of shared memory.
  transport @0 :Transport;
  environment @1 :List(Variable);  # of the program; only the variables that the driver reads
  program @2 :Text;                # its name, for people
  stripes @3 :UInt32;              # connections that are about to join, besides this one; of tcp alone
  memoryLimitBytes @4 :Int64;      # of each GPU, that the program asks for as the most that it may have; 0: none
  memoryLimitFraction @5 :Float64; # or as a part of each GPU's memory; 0: none
  claim @6 :Gpu.Claim;             # on the GPUs' time, that the program asks for
  isNetTest @7 :Bool;              # no calls follow, but tests of the connections; the driver is not loaded
}

struct Join {
  session @0 :UInt64;              # whose number the challenge told
  number @1 :UInt32;               # of the connection, from 1 on
  mac @2 :Data;
}

struct Variable {
  name @0 :Text;                   # "CUDA_VISIBLE_DEVICES"; one that the server does not know is left alone
  value @1 :Text;
}

struct Channel {
  # With shm, one byte comes behind the frame, with the descriptor of the rings (src/remote/transport/ring.h).
  transport @0 :Transport;
  devices @1 :UInt32;              # that the program may use
  stripes @2 :UInt32;              # that have joined: all that were announced, or none will be used
  driverVersion @3 :UInt32;        # what cuDriverGetVersion() says, 13000 for 13.0; 0: ask it
  isSimulated @4 :Bool;            # the devices have no kernels except those of the simulator; for readers of recordings
  driverFingerprint @5 :Data;      # of the driver's file, its version and the variables that it reads: where these are equal,
                                   # the driver says the same about the same code. Empty: not known
  visibleDevices @6 :Text;         # with local: CUDA_VISIBLE_DEVICES for the program's driver, by UUIDs; empty: as it is
  deviceNumbers @7 :List(UInt32);  # with local: the server's number of each device that the program's driver then has
  onlyCounts @8 :Bool;             # with local: limits refuse nothing
  smPercent @10 :UInt32;           # with local: of each GPU's multiprocessors, that the program gets; 0: all
  hasTurns @9 :Bool;               # with local: three bytes come behind the frame, with the descriptors of a page of words about turns
                                   # (src/turns/private_page.h) and of a pipe's ends, by which the program tells that its wish changed
  takesCounts @12 :Bool;           # with local: the program tells its calls, which do not travel, from time to time
  hasPieces @11 :Bool;             # the connections that joined came by data addresses except the last one, and large frames travel in pieces
  isNetTest @13 :Bool;             # as in the question; a server that does not know such sessions leaves it out
}

struct NetTest {
  # One test of a session that is a net test. The server answers when it is ready; then the bytes travel, and the server answers again.
  kind @0 :NetTestKind;
  connections @1 :UInt32;          # a bit for each: 0 that of the calls, the others those that joined, by their numbers. Bytes travel there
                                   # without heads. 0: on all of them as large frames of a program do, and from then on in no other way
  bytes @2 :UInt64;                # in one direction, on each connection; of large frames in all; of echo each time, at most 65536
  count @3 :UInt32;                # of echo: how often, on one connection
}

enum NetTestKind {
  look @0;                         # nothing travels
  echo @1;                         # there and back
  toServer @2;
  fromServer @3;
}

struct NetTestDone {
  bytes @0 :UInt64;                # of toServer: that came behind the first part, of all connections
  timeNs @1 :UInt64;               # and the time from that part to the last one; 0: there was one part alone
  sentAgain @2 :Int64;             # of look: TCP segments or datagrams that the server has sent again on these connections so far; negative: not known
}

struct BooksQuestion {
  # A question or an order of a program with the transport local (src/runtime/quota/books.h). take, look, shareMake, shareFind,
  # shareHold and takePart have an answer; the others have none.
  asks @0 :BooksAsk;
  device @1 :UInt32;               # the server's number
  bytes @2 :Int64;
  object @3 :UInt64;               # a share; of log the event
  name @4 :UInt64;                 # of a share
  part @5 :BooksPart;              # of takePart
}

struct BooksPart {
  # Multiprocessors (struct ath_books_part).
  groups @0 :UInt32;
  wanted @1 :UInt32;
  processors @2 :UInt32;
  total @3 :UInt32;
}

enum BooksAsk {
  take @0;
  give @1;
  note @2;
  look @3;
  log @4;
  shareMake @5;
  shareName @6;
  shareFind @7;
  shareHold @8;
  shareDrop @9;
  takePart @10;                    # answered
  count @11;                       # object: calls so far, bytes: copied to GPUs, name: bytes copied from GPUs; if Channel.takesCounts
}

struct BooksAnswer {
  value @0 :UInt64;                # take and shareHold: 1, or 0: refused; shareMake and shareFind: the share, or 0; takePart: bits of groups, or 0
  rooms @1 :List(BooksRoom);       # of look: the session's, the identity's, all sessions'
  sessions @2 :UInt32;             # of look: that have memory of the device
}

struct BooksRoom {
  usedBytes @0 :Int64;
  limitBytes @1 :Int64;            # negative: no limit
}

struct Proof {
  mac @0 :Data;
}

struct Welcome {
  mac @0 :Data;
  session @1 :UInt64;
}

struct Refusal {
  reason @0 :Reason;
  message @1 :Text;                # for people, English
}

enum Reason {
  unknown @0;
  badMessage @1;                   # the message is not valid here
  protocol @2;                     # no version that both speak
  keyWanted @3;                    # the server wants a key and the client has none
  keyNotWanted @4;                 # the server has no key to prove
  keyWrong @5;                     # of this name; a name that the server does not know is refused in the same way, and as late
  notServed @6;                    # this purpose is not served
  busy @7;                         # too many sessions
  encryptionWanted @8;             # this connection must be encrypted
  encryptionNotServed @9;          # the server encrypts no connection
}

struct Health {
  software @0 :Text;
  protocol @1 :UInt32;
  uptimeMs @2 :UInt64;
  node @3 :Text;                   # the NUMA entry it serves, as `start` named it; empty by hand
  hostname @4 :Text;
  bootId @5 :Text;                 # with the network namespace: whether two sides are really on one host
  netNamespace @6 :UInt64;         # inode of /proc/self/ns/net; 0: unknown
  isSimulated @7 :Bool;
  wantsKey @8 :Bool;
  devices @9 :List(Gpu.Device);
  vramFraction @10 :Float64 = 1.0;
  sessions @11 :UInt32;            # of programs, without those that only ask
  problems @12 :List(Problem);
  driverVersion @13 :UInt32;       # the newest CUDA that the driver knows, 13000 for 13.0; 0: there is no driver
  address @14 :Text;               # where it listens for TCP, in its own network: "10.0.0.11:50051"; empty: nowhere
  sharing @15 :Gpu.Sharing;
  claim @16 :Gpu.Claim;            # the most that a session of the identity that asks may claim; sharePercent 0: any share
}

struct Problem {
  severity @0 :Severity;
  code @1 :Text;                   # a stable word: "no-devices"
  object @2 :Text;                 # may be empty
  message @3 :Text;                # for people, English
}

enum Severity {
  note @0;                         # good to know
  fault @1;                        # the server does not do what it was started for
}
