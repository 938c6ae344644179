@0xb80c6d1f5a3e7429;
# NVML's calls, in a control session. Parameters and results are in C's order, handles the server's numbers (0: NULL), structures the
# bytes that they are in C: whatever machine NVIDIA has a driver for is of 64 bits and little-endian, and a structure says its version.
using Common = import "common.capnp";
$Common.prefix("nvml");

struct Value {
  union {
    none @0 :Void;        # a null pointer, or no result
    number @1 :UInt64;    # a number or a handle; of a place for a result, that there is one
    bytes @2 :Data;
    handles @3 :List(UInt64);
  }
}

struct Calls {
  calls @0 :List(Call);   # at most maxCalls; what the client will want to know anyway goes in one message
  memoryLimitBytes @1 :Int64;      # of each GPU, that the program asks for as the most that it may have; 0: none
  memoryLimitFraction @2 :Float64; # or as a part of each GPU's memory; 0: none
}

struct Answers {
  answers @0 :List(Answer);  # for each call
}

struct Call {
  function @0 :UInt16;    # the ordinal in nvml.capnp
  given @1 :List(Value);  # for each parameter
}

struct Answer {
  status @0 :UInt32;      # an nvmlReturn_t
  results @1 :List(Value);  # for each parameter; none for those that only go
}

const maxCalls :UInt32 = 1024;
