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
}

struct DeviceUse {
  device @0 :UInt32;               # place in DeviceList
  memoryUsedBytes @1 :Int64 = -1;
  memoryLimitBytes @2 :Int64 = -1; # of this session alone
  memoryLimitSource @3 :LimitSource;
  isLimitEnforced @4 :Bool = true; # false: the server counts and warns, and refuses nothing
}

enum LimitSource {
  none @0;                         # there is no limit of this session alone
  asked @1;                        # by the program, when it began
  identity @2;                     # what the identity may have; the program asked for no less
  set @3;                          # by limitSession, later
}

struct SessionList {
  sessions @0 :List(Session);      # by id
}

struct SessionLimit {
  id @0 :UInt64;
  device @1 :UInt32;
  memoryLimitBytes @2 :Int64 = -1; # -1: none
}

enum Purpose {
  control @0;                      # asks and tells; what control.capnp holds
  cuda @1;                         # a program's CUDA calls
}
