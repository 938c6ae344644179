@0xf2fcc5c637000d5a;
# Questions and orders of `status` and `health` to a server: devices and sessions, their memory and its limit.
using Common = import "common.capnp";
$Common.prefix("gpu");

struct Device {
  pci @0 :Text;                    # "0004:04:00.0"; empty for a simulated one
  uuid @1 :Text;                   # "GPU-..."; empty: unknown
  name @2 :Text;
  isSimulated @3 :Bool;
  memoryTotalBytes @4 :Int64 = -1; # -1: unknown, here and below
  memoryUsedBytes @5 :Int64 = -1;  # by sessions of this server
  memoryLimitBytes @6 :Int64 = -1; # for all sessions of this server together
  sessions @7 :UInt32;             # that use it now
  isForbidden @8 :Bool;            # to the identity that asks
  isReserved @9 :Bool;             # for a program that has not begun to use it
}

struct DeviceList {
  devices @0 :List(Device);        # in CUDA's order
}

struct Session {
  id @0 :UInt64;                   # of this server, never used twice
  purpose @1 :Purpose;
  peer @2 :Text;                   # "10.0.0.7:41234", "unix:1234:1000" with the ids of process and user
  ageMs @3 :UInt64;
  devices @4 :List(DeviceUse);     # what it holds; empty for a control session
  program @5 :Text;                # as it calls itself, for people; empty for a control session
  identity @6 :Text;               # the name of the key that it has proven; empty: the server has no key
  host @7 :Text;                   # of the client's process, as it says; empty: unknown
  process @8 :UInt32;              # on that host, as it says; 0: unknown
  isEncrypted @9 :Bool;            # by TLS
  turn @10 :Turn;                  # of a program: how it shares the GPUs' time
  channels @11 :List(SessionChannel); # of a program: the connections beside the first one, for large copies
  paths @12 :List(SessionPath);    # of a program: those that it uses, and those that it does not
}

struct SessionPath {
  # As the server's process of the session noted it at most two seconds ago.
  transport @0 :Text;              # "local", "shm", "udp", "tcp"
  reason @1 :PathReason;           # why it is not used
  connections @2 :UInt32;          # 0: it is not used
  leastBytes @3 :UInt64;           # of the frames that go by it; calls are smaller than any other limit than 0
  latencyNs @4 :Int64 = -1;        # a round trip; -1: unknown
  bytesPerS @5 :Int64 = -1;        # of the latest large frames that the server has sent by it; -1: none yet
}

enum PathReason {
  used @0;
  notNear @1;                      # the program reaches the server by an address
  notAsked @2;                     # the program might use it, and did not choose it
  notServed @3;                    # the server does not take it
  notNeeded @4;                    # shared memory is faster, or the program has the GPUs in its own process
}

struct SessionChannel {
  # As the server's process of the session noted it at most two seconds ago.
  local @0 :Text;                  # the server's address, "10.0.1.11:5555"; empty: unknown
  peer @1 :Text;                   # the client's; empty: unknown
  transport @2 :Text;              # "tcp", "udp"
  sentBytes @3 :Int64 = -1;        # of large frames, by the server
  receivedBytes @4 :Int64 = -1;
  sentAgain @5 :Int64 = -1;        # TCP segments or datagrams that the server sent more than once; -1: unknown
  isLost @6 :Bool;                 # it broke, and has not come again
  # Datagrams by UDP, as the server counts them; -1: unknown, as by TCP.
  datagramsSent @7 :Int64 = -1;
  datagramsReceived @8 :Int64 = -1;
  datagramsLost @9 :Int64 = -1;    # that the server sent, and took for lost
  datagramsDuplicates @10 :Int64 = -1;
  datagramsDamaged @11 :Int64 = -1; # that came with a wrong sum
}

struct Turn {
  # A session's part of the GPUs' time, and what it does at this moment (src/turns/turns.h).
  state @0 :TurnState;
  waitsFor @1 :UInt64;             # the session that holds what it waits for; 0: none, or its own cap has been reached
  sharePercent @2 :Float64 = -1;   # of its GPUs' time by the weights and its cap, if all sessions there want it and have one priority; -1: unknown, or no turns there
  claim @3 :Claim;                 # that holds now; its priority is never unset
  shareSource @4 :LimitSource;     # of the claim's share; identity: of the row's, which is for all sessions together
  prioritySource @5 :LimitSource;
  stateMs @6 :Int64 = -1;          # for how long it has been in its state; -1: unknown
  keyPercent @7 :UInt32;           # of its identity's row, for all sessions of the identity together; 0: none
  isKeyCapped @8 :Bool;            # they get no more than that
}

enum TurnState {
  unknown @0;                      # no program, or a server without turns
  idle @1;                         # has nothing for the GPU to do
  free @2;                         # uses the GPU at the same time as others
  holds @3;                        # has the turn
  waits @4;
}

struct DeviceUse {
  device @0 :UInt32;               # place in DeviceList
  memoryUsedBytes @1 :Int64 = -1;
  memoryLimitBytes @2 :Int64 = -1; # of this session alone
  memoryLimitSource @3 :LimitSource;
  isLimitEnforced @4 :Bool = true; # false: the server counts and warns, and refuses nothing
  processors @5 :UInt32;           # multiprocessors that the session has for itself; 0: no part
  processorsTotal @6 :UInt32;      # of the device
}

enum LimitSource {
  none @0;                         # there is no limit of this session alone
  asked @1;                        # by the program, when it began
  identity @2;                     # what the identity may have; the program asked for no less
  set @3;                          # by limitSession, later
}

enum Priority {
  unset @0;                        # none was given
  low @1;
  normal @2;
  high @3;                         # goes before the others, whatever their shares
}

struct Claim {
  # On the time of GPUs, and on a part of them: what a program asks for, or may have. src/turns/turns.h says what comes of it.
  sharePercent @0 :UInt32;         # 1 to 100; 0: none
  isCapped @1 :Bool;               # never more than the share, even if no other program wants the GPU
  priority @2 :Priority;
  smPercent @3 :UInt32;            # of each GPU's multiprocessors; 0: all. A turn's claim leaves it out: devices tell what the session has
}

enum Sharing {
  # When sessions take turns on the GPUs of a server.
  unknown @0;                      # never: an older server
  auto @1;                         # from the first claim on a GPU
  turns @2;                        # always
  free @3;                         # never
}

struct SessionList {
  sessions @0 :List(Session);      # by id
}

struct SessionLimit {
  id @0 :UInt64;
  device @1 :UInt32;
  memoryLimitBytes @2 :Int64 = -1; # -1: none
}

struct ClaimChange {
  # A change of a session's claim while it runs.
  id @0 :UInt64;
  sharePercent @1 :Int32 = -1;     # 1 to 100; 0: none; -1: stays as it is
  changesCap @2 :Bool;             # whether the next counts
  isCapped @3 :Bool;
  priority @4 :Priority;           # unset: stays as it is
}

struct Figures {
  # Figures of a server, its devices and sessions; src/remote/session/figures.h says what each means. -1: unknown.
  sampledMsAgo @0 :Int64 = -1;     # age of what NVML said of the devices; -1: there is no sample
  accepted @1 :Int64 = -1;         # connections since the server's start
  refused @2 :List(Int64);         # by Reason of control.capnp
  broken @3 :Int64 = -1;
  devices @4 :List(DeviceFigures); # in the order of DeviceList
  sessions @5 :List(SessionFigures); # by id; those of programs that the client may see
  datagrams @6 :List(DatagramFigures); # of the addresses at which the server takes UDP
}

struct DatagramFigures {
  # Datagrams at one address since the server's start; src/remote/udp/flow.h says what each count means.
  address @0 :Text;                # "10.0.0.11:5555"
  sent @1 :Int64 = -1;
  received @2 :Int64 = -1;
  sentAgain @3 :Int64 = -1;
  lost @4 :Int64 = -1;
  duplicates @5 :Int64 = -1;
  damaged @6 :Int64 = -1;          # wrong sums
  foreign @7 :Int64 = -1;          # of no channel, or from another address than the channel's
}

struct DeviceFigures {
  memoryUsedBytes @0 :Int64 = -1;  # by sessions of this server
  memoryLimitBytes @1 :Int64 = -1; # for all sessions of this server together
  sessions @2 :Int64 = -1;         # that use it now
  memoryTotalBytes @3 :Int64 = -1; # from here on NVML's
  memoryFreeBytes @4 :Int64 = -1;
  busyPercent @5 :Int64 = -1;
  memoryBusyPercent @6 :Int64 = -1;
  temperatureC @7 :Int64 = -1;
  powerMw @8 :Int64 = -1;
  powerLimitMw @9 :Int64 = -1;
  smClockMhz @10 :Int64 = -1;
  memoryClockMhz @11 :Int64 = -1;
  throttleReasons @12 :Int64 = -1; # bits of nvmlClocksEventReasons
  eccCorrected @13 :Int64 = -1;
  eccUncorrected @14 :Int64 = -1;
  remappedRows @15 :Int64 = -1;
  xids @16 :Int64 = -1;            # events since the server's start that no program caused
  lastXid @17 :Int64 = -1;
  pcieReceivedBytesS @18 :Int64 = -1;
  pcieSentBytesS @19 :Int64 = -1;
  nvlinkReceivedBytes @20 :Int64 = -1;
  nvlinkSentBytes @21 :Int64 = -1;
  healthScore @22 :Int64 = -1;     # 0 to 100
}

struct SessionFigures {
  id @0 :UInt64;                   # as in Session
  calls @1 :Int64 = -1;
  receivedBytes @2 :Int64 = -1;    # by the server
  sentBytes @3 :Int64 = -1;
  waits @4 :List(Int64);           # calls that waited for the GPU, by duration; empty: unknown
  waitedUs @5 :Int64 = -1;
  gpuTimeUs @6 :Int64 = -1;
  busyPercent @7 :Int64 = -1;
  transport @8 :Text;              # "tcp", "shm"; empty: unknown
  heldUs @9 :Int64 = -1;           # that it had the GPUs; not the same as gpuTimeUs, during which they worked for it
  turnWaitedUs @10 :Int64 = -1;    # that it waited for others to give the GPUs back
  lentUs @11 :Int64 = -1;          # part of heldUs: beyond its share, because others did not want the GPUs
  turns @12 :Int64 = -1;           # that it was given
}

enum Purpose {
  control @0;                      # asks and tells; what control.capnp holds
  cuda @1;                         # a program's CUDA calls
}
