@0xe2b6d5c1f09a4d37;
# The CUDA driver interface: one method for each function of libcuda.so.1, how its parameters travel, and what it does.
# proto/cuda_generate.py writes the messages (cuda-wire.capnp), the client's and the server's functions, the table of facts, the
# tables of cuGetProcAddress() and docs/coverage.md from it.
#
# Parameters and results have the names and the meaning of the C function's own (src/cuda/api/cuda_functions.h, src_device as
# srcDevice). The length of a list or of bytes travels within the list or the bytes. In C a result is a pointer to memory for it. A
# name on both sides is a parameter that comes back changed.
using Common = import "common.capnp";
$Common.prefix("cuda");

annotation c @0xb5a2e0c3d1f64e01 (method, struct, group, union) :Text;
# The name of the function or of the structure in C; of a group: the C member that it stands for, "" if the member has no name.

annotation class @0xb5a2e0c3d1f64e02 (method) :Class;
enum Class {
  sync @0;     # sent, and the client waits for the answer
  async @1;    # sent in order, without an answer and without results: the next call that synchronizes reports an error
  cached @2;   # sent once for the same parameters in the same context, until a method forgets the answer
  local @3;    # answered by hand on the client, which sends nothing
  custom @4;   # written by hand on one side or both
  refused @5;  # CUDA_ERROR_NOT_SUPPORTED, with a reason for people
}

annotation since @0xb5a2e0c3d1f64e03 (method) :UInt32;     # the CUDA version that first had it: 11020 is 11.2
annotation ptsz @0xb5a2e0c3d1f64e04 (method) :UInt32;      # and as NAME_ptsz, whose null stream is the thread's
annotation ptds @0xb5a2e0c3d1f64e05 (method) :UInt32;      # or as NAME_ptds, which takes no stream
annotation onStream @0xb5a2e0c3d1f64e06 (method) :Text;
# NAME_ptds is this function on the thread's stream. Without this annotation it is NAME, which waits for more than it must.

annotation byHand @0xb5a2e0c3d1f64e07 (method) :Side;      # the side of a custom method that is written by hand
enum Side {
  client @0;   # of a method that is sent, too: the client then decides whether it is sent
  server @1;
  both @2;     # the message need not look like C's parameters then
}
annotation forgets @0xb5a2e0c3d1f64e09 (method) :Text;
# Cached methods whose answers are stale after this one: their names, a fact that all of them state (ofStream), or "*" for all.

annotation does @0xb5a2e0c3d1f64e1d (method) :List(Fact);
# The facts about a function. Every method that is not refused states its facts here, and no other place lists functions: code that
# treats functions differently reads ath_cuda_methods[] (proto/cuda-methods.h), which has a member for each fact.
# proto/cuda-quota.h declares the wrappers that src/runtime/quota must have.

annotation about @0xb5a2e0c3d1f64e26 (enumerant) :Text;
# A fact about what a method's first parameter names: this parameter's type in C. The server looks at what it names.

enum Fact {
  plain @0;           # none of the facts below

  # Handles and addresses. A method whose result is a handle or an address makes or gets it.
  makes @1;           # makes what it returns: the program ends it
  gets @2;            # returns what exists already
  ends @3;            # ends something. It succeeds when the server is lost, and at exit the client does not wait for it
  inGreen @4;         # what it makes belongs to a green context
  shares @5;          # its event may be used by other processes
  namesKernel @6;     # returns a function that is a kernel by another name
  stocked @7;         # makes a thing of which programs need many: the client asks for several and keeps the rest in stock
  dropsStock @8;      # ends contexts that the client does not know by name, so the client drops its stock

  # When it may be called.
  early @9;           # may be sent before cuInit() has succeeded
  offline @10;        # is answered by the client, so that it works when the server is lost. Cached methods are, too
  records @11;        # records an event: its stream and its event must belong to the same context
  inContext @12;      # uses the current context: with a stream of another context the call is asked, and the driver judges

  # Contexts on the server.
  leavesCurrent @13;  # leaves the context that it makes current in the thread that called the driver
  endsContext @14 $about("CUcontext");    # ends the context that its first parameter names
  resetsDevice @15 $about("CUdevice");    # ends all contexts of the device that its first parameter names
  releasesDevice @16 $about("CUdevice");  # ends the primary context of that device with its last reference
  retainsDevice @41 $about("CUdevice");   # returns the primary context of that device

  # Waiting.
  waits @17;          # waits for the GPU, always: the server serves other threads' calls meanwhile
  mayWait @18;        # may wait until the GPU has done earlier work: to free memory that the work may use, to have more, to copy,
                      # to end a context. The server lets other calls pass after some milliseconds
  synchronizes @19;   # when it has succeeded, what the GPU changed in host memory until then is there
                      # (docs.nvidia.com/cuda/cuda-driver-api, "API synchronization behavior")
  reports @20;        # reports failures of earlier work

  # Memory that the program's process and the server's process both have.
  launches @21;       # launches kernels: CUDA_LAUNCH_BLOCKING has the program wait for them
  touches @22;        # the GPU may read or write host memory because of it, or the program asks whether the GPU has done so
  maps @23;           # its addresses may be pinned host memory, which the server must know first
  awaitsMemory @24;   # a stream waits for a value in memory, which the program may write

  # The share of a GPU's memory that the server's sessions may have. src/runtime/quota has a wrapper for each.
  takes @25;          # takes GPU memory, or one more reference to it, or something for which the driver takes memory later
  gives @26;          # gives GPU memory back
  counts @27;         # changes or tells what is counted, without taking or giving memory itself
  barred @28;         # of CUDA 2, with addresses of 32 bits: a way around the count that no 64-bit program needs. The server behaves
                      # as if the driver did not have it
  uncounted @36;      # makes memory or an address, but no part of the share: it is host memory, addresses without memory, or
                      # memory that another session or device holds and src/cuda/server/share_memory.c counts
  reuses @37;         # takes or gives memory in a stream's order: frees that the client has not sent yet may wait beyond it
                      # (src/cuda/client/memory_reuse.h)
  changesPools @38;   # memory that is taken after it may come from another pool

  # Captures. The first parameter is the stream.
  beginsCapture @29 $about("CUstream");
  endsCapture @30 $about("CUstream");

  # Cached answers.
  anyContext @31;     # the same in every context
  ofSettings @32;     # depends on what was set for a kernel or for all kernels
  ofStream @33;       # a fact about a stream
  refusalIsAnswer @34; # CUDA_ERROR_INVALID_VALUE and CUDA_ERROR_INVALID_CLUSTER_SIZE are answers that stay as well
  ofCode @42;         # the same whenever a program with the same code runs on the same GPU and driver, so the client may keep it on
                      # disk (src/cuda/client/code_facts.h)

  # Time of the GPU (src/cuda/turns).
  occupies @43;       # gives the GPU work that others on it wait for: it runs only while the session has the turn
  noTurn @46;         # has a stream, and gives it no work or only a moment's (a word, page tables): needs no turn
  awaitsOthers @44;   # the work may wait for the program, or for another process
  joinsCapture @45;   # its stream belongs to a capture afterwards, if the event does

  # Order.
  overtakes @35;      # may pass calls that the server has not served yet: they may wait for a function of the program's, and this
                      # brings the memory of that function or says that it has returned
  noWork @39;         # gives the GPU nothing to do, so that a stream at rest stays so (src/cuda/client/stream_rest.h)

  # Other processes.
  exports @40;        # other processes may use memory of this one from now on, or this one theirs
}

# With several servers (proto/cuda_several.py).
annotation bySwitch @0xb5a2e0c3d1f64e1e (method) :Void;    # the switch's function is written by hand, in src/cuda/several
annotation placed @0xb5a2e0c3d1f64e1f (method) :Text;
# "WHERE; BYTES[; FREE[; AGAIN]]", expressions of C: the memory that it returned, how to free memory that lies where another server
# has some, and how to take the memory behind it meanwhile. Without FREE such memory is kept.

annotation pinned @0xb5a2e0c3d1f64e20 (method) :Text;      # in C: the address of the host memory that the server now knows
annotation unplaced @0xb5a2e0c3d1f64e21 (method) :Text;    # in C: the address of the memory that it frees
annotation askedIf @0xb5a2e0c3d1f64e24 (method) :Text;
# An async method: in C, the parameters are of a kind that no driver of today takes, so its error is waited for,
# and handles are judged by the server alone.
annotation evenFailed @0xb5a2e0c3d1f64e0a (method) :Void;  # its results are valid when it fails, too
annotation reason @0xb5a2e0c3d1f64e0b (method) :Text;      # why it is refused
annotation differs @0xb5a2e0c3d1f64e25 (method) :Text;     # what it does otherwise than the driver

annotation handle @0xb5a2e0c3d1f64e0d (field, param) :Void;       # a handle of the driver's; the C type is its kind
annotation deviceptr @0xb5a2e0c3d1f64e0e (field, param) :Void;    # an address of the GPU's memory
annotation count @0xb5a2e0c3d1f64e0f (field, param) :Text;        # a list's length in C: a parameter's name, or an expression of them
annotation upTo @0xb5a2e0c3d1f64e10 (field, param) :Text;         # a result: this parameter says the room, and returns the count
annotation bytesOf @0xb5a2e0c3d1f64e11 (field, param) :Text;      # how many bytes in C: a parameter's name, or an expression of them
annotation capacity @0xb5a2e0c3d1f64e12 (field, param) :Text;     # a result: the room for a text with its NUL byte
annotation atMost @0xb5a2e0c3d1f64e27 (param) :Text;
# A number from 0 to this in C, an expression of the parameters. The driver crashes for others, so the server refuses them.

annotation kept @0xb5a2e0c3d1f64e13 (field, param) :Text;
# The program gets a pointer to the result, which stays until the next result for the same value of this parameter; "": forever.

annotation wants @0xb5a2e0c3d1f64e14 (field, param) :Text;        # whether the program wants this result: in C, its pointer is not null
annotation nullable @0xb5a2e0c3d1f64e15 (field, param) :Void;     # the pointer may be null
annotation isCached @0xb5a2e0c3d1f64e1a (method) :Void;    # a custom method whose answers the cache of answers has, too
annotation internal @0xb5a2e0c3d1f64e19 (method) :Void;    # no function of CUDA's, but a call that hand-written functions need

annotation hostptr @0xb5a2e0c3d1f64e1b (field) :Void;      # an address of host memory that both sides have, or null

annotation by @0xb5a2e0c3d1f64e16 (union) :Text;           # the member of the structure that selects a union's member
annotation when @0xb5a2e0c3d1f64e17 (field, group) :Text;
# The values that select this member. The member 'otherwise' is the union's bytes, for all other values.

annotation deviceIf @0xb5a2e0c3d1f64e1c (field) :Text;     # a device's number if the first word, a member, is the second, a value

annotation usedIf @0xb5a2e0c3d1f64e22 (field) :Text;
# A handle in a structure: a condition of C, which begins with a member of the structure. The C function reads the handle only then.
annotation onlyBack @0xb5a2e0c3d1f64e23 (field) :Void;     # of a handle in a structure: the C function writes it and never reads it

annotation omits @0xb5a2e0c3d1f64e18 (struct, group) :Text;
# Members of the C structure that do not travel and are zero on the other side. reserved and pad need no mention.

# Reasons for refusals.
const copyNode :Text = "a copy node of pageable memory is a host function and a copy of pinned memory, and cannot be disabled";
const madeWithout :Text = "CUDA_ERROR_NOT_SUPPORTED for pageable memory if the node was made without any";
const twoNodes :Text = "a captured copy of pageable memory is two nodes: a host function, and a copy of pinned memory";
const graphics :Text = "graphics and the GPU are on two machines: a resource of OpenGL, Vulkan or Direct3D cannot be shared with a remote GPU";
const external :Text = "external memory and semaphores are handles of the program's own machine (Vulkan, Direct3D, NvSci), which the server does not have";
const nvSci :Text = "NvSci exists on Tegra alone";
const checkpoint :Text = "takes the process id of a CUDA program on the GPU's machine; what runs there is the server's process, not the program";
const coredump :Text = "the GPU's core dump would be written on the server's machine; set the CUDA_COREDUMP variables of aitherion-runtime there";
const narrow :Text = "addresses of 32 bits, of CUDA 3.1 and before: no program of 64 bits has one";
const logCallbacks :Text = "the driver calls it in the midst of its own work, in the server; cuLogsDumpToMemory() gives the same texts";
const notifications :Text = "tells of budgets of memory, which Windows alone has";
const dmaBuf :Text = "a dma-buf is for devices of the GPU's machine, such as its network card, which the program does not have";
const unifiedFunctions :Text = "gives an address of code that the program calls as well; it would be one of the server's";

# ---- structures that travel ----

struct Array3dDescriptor $c("CUDA_ARRAY3D_DESCRIPTOR") {
  width @0 :UInt64;
  height @1 :UInt64;
  depth @2 :UInt64;
  format @3 :UInt32;
  numChannels @4 :UInt32;
  flags @5 :UInt32;
}

struct Array3dDescriptorV1 $c("CUDA_ARRAY3D_DESCRIPTOR_v1") {
  width @0 :UInt32;
  height @1 :UInt32;
  depth @2 :UInt32;
  format @3 :UInt32;
  numChannels @4 :UInt32;
  flags @5 :UInt32;
}

struct ArrayDescriptor $c("CUDA_ARRAY_DESCRIPTOR") {
  width @0 :UInt64;
  height @1 :UInt64;
  format @2 :UInt32;
  numChannels @3 :UInt32;
}

struct ArrayDescriptorV1 $c("CUDA_ARRAY_DESCRIPTOR_v1") {
  width @0 :UInt32;
  height @1 :UInt32;
  format @2 :UInt32;
  numChannels @3 :UInt32;
}

struct ArrayMemoryRequirements $c("CUDA_ARRAY_MEMORY_REQUIREMENTS") {
  size @0 :UInt64;
  alignment @1 :UInt64;
}

struct ArraySparseProperties $c("CUDA_ARRAY_SPARSE_PROPERTIES") {
  tileExtent :group {
    width @0 :UInt32;
    height @1 :UInt32;
    depth @2 :UInt32;
  }
  miptailFirstLevel @3 :UInt32;
  miptailSize @4 :UInt64;
  flags @5 :UInt32;
}

struct BatchMemOpNodeParams $c("CUDA_BATCH_MEM_OP_NODE_PARAMS") {
  ctx @0 :UInt64 $handle;
  paramArray @1 :List(StreamBatchMemOpParams) $count("count");
  flags @2 :UInt32;
}

struct Devprop $c("CUdevprop") {
  maxThreadsPerBlock @0 :Int32;
  maxThreadsDim @1 :List(Int32);
  maxGridSize @2 :List(Int32);
  sharedMemPerBlock @3 :Int32;
  totalConstantMemory @4 :Int32;
  simdWidth @5 :Int32;
  memPitch @6 :Int32;
  regsPerBlock @7 :Int32;
  clockRate @8 :Int32;
  textureAlign @9 :Int32;
}

struct ExecAffinityParam $c("CUexecAffinityParam") {
  type @0 :UInt32;
  param :union $by("type") {
    smCount :group $when("CU_EXEC_AFFINITY_TYPE_SM_COUNT") {
      val @1 :UInt32;
    }
    otherwise @2 :Data;
  }
}

struct GraphEdgeData $c("CUgraphEdgeData") {
  fromPort @0 :UInt8;
  toPort @1 :UInt8;
  type @2 :UInt8;
  reserved @3 :List(UInt8); # the driver refuses others than 0
}

struct GraphExecUpdateResultInfo $c("CUgraphExecUpdateResultInfo") {
  result @0 :UInt32;
  errorNode @1 :UInt64 $handle;
  errorFromNode @2 :UInt64 $handle;
}

struct GraphInstantiateParams $c("CUDA_GRAPH_INSTANTIATE_PARAMS") {
  flags @0 :UInt64;
  hUploadStream @1 :UInt64 $handle $usedIf("flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD");
  hErrNodeOut @2 :UInt64 $handle $onlyBack;
  resultOut @3 :UInt32;
}

struct LaunchConfig $c("CUlaunchConfig") {
  gridDimX @0 :UInt32;
  gridDimY @1 :UInt32;
  gridDimZ @2 :UInt32;
  blockDimX @3 :UInt32;
  blockDimY @4 :UInt32;
  blockDimZ @5 :UInt32;
  sharedMemBytes @6 :UInt32;
  hStream @7 :UInt64 $handle;
  attrs @8 :List(LaunchAttribute) $count("numAttrs");
}

struct LaunchAttribute $c("CUlaunchAttribute") {
  id @0 :UInt32;
  value :union $by("id") {
    programmaticEvent :group $when("CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT") {
      event @1 :UInt64 $handle;
      flags @2 :Int32;
      triggerAtBlockStart @3 :Int32;
    }
    launchCompletionEvent :group $when("CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT") {
      event @4 :UInt64 $handle;
      flags @5 :Int32;
    }
    otherwise @6 :Data;            # numbers alone, whatever a later CUDA adds
  }
}

struct MemAccessDesc $c("CUmemAccessDesc") {
  location @0 :MemLocation;
  flags @1 :UInt32;
}

struct MemAllocNodeParams $c("CUDA_MEM_ALLOC_NODE_PARAMS") {
  poolProps @0 :MemPoolProps;
  accessDescs @1 :List(MemAccessDesc) $count("accessDescCount");
  bytesize @2 :UInt64;
  dptr @3 :UInt64 $deviceptr;
}

struct MemAllocationProp $c("CUmemAllocationProp") $omits("win32HandleMetaData") {
  type @0 :UInt32;
  requestedHandleTypes @1 :UInt32;
  location @2 :MemLocation;
  allocFlags :group {
    compressionType @3 :UInt8;
    gpuDirectRDMACapable @4 :UInt8;
    usage @5 :UInt16;
  }
}

struct MemDecompressParams $c("CUmemDecompressParams") {
  srcNumBytes @0 :UInt64;
  dstNumBytes @1 :UInt64;
  dstActBytes @2 :UInt64 $deviceptr;
  src @3 :UInt64 $deviceptr;
  dst @4 :UInt64 $deviceptr;
  algo @5 :UInt32;
}

struct MemLocation $c("CUmemLocation") {
  type @0 :UInt32;
  id @1 :Int32 $deviceIf("type CU_MEM_LOCATION_TYPE_DEVICE");
}

struct MemPoolProps $c("CUmemPoolProps") $omits("win32SecurityAttributes") {
  allocType @0 :UInt32;
  handleTypes @1 :UInt32;
  location @2 :MemLocation;
  maxSize @3 :UInt64;
  usage @4 :UInt16;
}

struct Memcpy2d $c("CUDA_MEMCPY2D") {
  srcXInBytes @0 :UInt64;
  srcY @1 :UInt64;
  srcMemoryType @2 :UInt32;
  srcDevice @3 :UInt64 $deviceptr;
  srcArray @4 :UInt64 $handle $usedIf("srcMemoryType == CU_MEMORYTYPE_ARRAY");
  srcPitch @5 :UInt64;
  dstXInBytes @6 :UInt64;
  dstY @7 :UInt64;
  dstMemoryType @8 :UInt32;
  dstDevice @9 :UInt64 $deviceptr;
  dstArray @10 :UInt64 $handle $usedIf("dstMemoryType == CU_MEMORYTYPE_ARRAY");
  dstPitch @11 :UInt64;
  widthInBytes @12 :UInt64;
  height @13 :UInt64;
  srcHost @14 :UInt64 $hostptr;
  dstHost @15 :UInt64 $hostptr;
}

struct Memcpy3d $c("CUDA_MEMCPY3D") {
  srcXInBytes @0 :UInt64;
  srcY @1 :UInt64;
  srcZ @2 :UInt64;
  srcLOD @3 :UInt64;
  srcMemoryType @4 :UInt32;
  srcDevice @5 :UInt64 $deviceptr;
  srcArray @6 :UInt64 $handle $usedIf("srcMemoryType == CU_MEMORYTYPE_ARRAY");
  srcPitch @7 :UInt64;
  srcHeight @8 :UInt64;
  dstXInBytes @9 :UInt64;
  dstY @10 :UInt64;
  dstZ @11 :UInt64;
  dstLOD @12 :UInt64;
  dstMemoryType @13 :UInt32;
  dstDevice @14 :UInt64 $deviceptr;
  dstArray @15 :UInt64 $handle $usedIf("dstMemoryType == CU_MEMORYTYPE_ARRAY");
  dstPitch @16 :UInt64;
  dstHeight @17 :UInt64;
  widthInBytes @18 :UInt64;
  height @19 :UInt64;
  depth @20 :UInt64;
  srcHost @21 :UInt64 $hostptr;
  dstHost @22 :UInt64 $hostptr;
}

struct Memcpy3dPeer $c("CUDA_MEMCPY3D_PEER") {
  srcXInBytes @0 :UInt64;
  srcY @1 :UInt64;
  srcZ @2 :UInt64;
  srcLOD @3 :UInt64;
  srcMemoryType @4 :UInt32;
  srcDevice @5 :UInt64 $deviceptr;
  srcArray @6 :UInt64 $handle $usedIf("srcMemoryType == CU_MEMORYTYPE_ARRAY");
  srcContext @7 :UInt64 $handle $usedIf("srcMemoryType != CU_MEMORYTYPE_ARRAY");
  srcPitch @8 :UInt64;
  srcHeight @9 :UInt64;
  dstXInBytes @10 :UInt64;
  dstY @11 :UInt64;
  dstZ @12 :UInt64;
  dstLOD @13 :UInt64;
  dstMemoryType @14 :UInt32;
  dstDevice @15 :UInt64 $deviceptr;
  dstArray @16 :UInt64 $handle $usedIf("dstMemoryType == CU_MEMORYTYPE_ARRAY");
  dstContext @17 :UInt64 $handle $usedIf("dstMemoryType != CU_MEMORYTYPE_ARRAY");
  dstPitch @18 :UInt64;
  dstHeight @19 :UInt64;
  widthInBytes @20 :UInt64;
  height @21 :UInt64;
  depth @22 :UInt64;
  srcHost @23 :UInt64 $hostptr;
  dstHost @24 :UInt64 $hostptr;
}

struct MemsetNodeParams $c("CUDA_MEMSET_NODE_PARAMS") {
  dst @0 :UInt64 $deviceptr;
  pitch @1 :UInt64;
  value @2 :UInt32;
  elementSize @3 :UInt32;
  width @4 :UInt64;
  height @5 :UInt64;
}

struct MulticastObjectProp $c("CUmulticastObjectProp") {
  numDevices @0 :UInt32;
  size @1 :UInt64;
  handleTypes @2 :UInt64;
  flags @3 :UInt64;
}

struct ResourceDesc $c("CUDA_RESOURCE_DESC") {
  resType @0 :UInt32;
  res :union $by("resType") {
    array :group $when("CU_RESOURCE_TYPE_ARRAY") {
      hArray @1 :UInt64 $handle;
    }
    mipmap :group $when("CU_RESOURCE_TYPE_MIPMAPPED_ARRAY") {
      hMipmappedArray @2 :UInt64 $handle;
    }
    linear :group $when("CU_RESOURCE_TYPE_LINEAR") {
      devPtr @3 :UInt64 $deviceptr;
      format @4 :UInt32;
      numChannels @5 :UInt32;
      sizeInBytes @6 :UInt64;
    }
    pitch2D :group $when("CU_RESOURCE_TYPE_PITCH2D") {
      devPtr @7 :UInt64 $deviceptr;
      format @8 :UInt32;
      numChannels @9 :UInt32;
      width @10 :UInt64;
      height @11 :UInt64;
      pitchInBytes @12 :UInt64;
    }
    otherwise @13 :Data;
  }
  flags @14 :UInt32;
}

struct ResourceViewDesc $c("CUDA_RESOURCE_VIEW_DESC") {
  format @0 :UInt32;
  width @1 :UInt64;
  height @2 :UInt64;
  depth @3 :UInt64;
  firstMipmapLevel @4 :UInt32;
  lastMipmapLevel @5 :UInt32;
  firstLayer @6 :UInt32;
  lastLayer @7 :UInt32;
}

struct TextureDesc $c("CUDA_TEXTURE_DESC") {
  addressMode @0 :List(UInt32);
  filterMode @1 :UInt32;
  flags @2 :UInt32;
  maxAnisotropy @3 :UInt32;
  mipmapFilterMode @4 :UInt32;
  mipmapLevelBias @5 :Float32;
  minMipmapLevelClamp @6 :Float32;
  maxMipmapLevelClamp @7 :Float32;
  borderColor @8 :List(Float32);
}

struct ArrayMapInfo $c("CUarrayMapInfo") {
  resourceType @0 :UInt32;
  resource :union $by("resourceType") {
    mipmap @1 :UInt64 $handle $when("CU_RESOURCE_TYPE_MIPMAPPED_ARRAY");
    array @2 :UInt64 $handle $when("CU_RESOURCE_TYPE_ARRAY");
    otherwise @3 :Data;
  }
  subresourceType @4 :UInt32;
  subresource :union $by("subresourceType") {
    sparseLevel :group $when("CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL") {
      level @5 :UInt32;
      layer @6 :UInt32;
      offsetX @7 :UInt32;
      offsetY @8 :UInt32;
      offsetZ @9 :UInt32;
      extentWidth @10 :UInt32;
      extentHeight @11 :UInt32;
      extentDepth @12 :UInt32;
    }
    miptail :group $when("CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL") {
      layer @13 :UInt32;
      offset @14 :UInt64;
      size @15 :UInt64;
    }
    otherwise @16 :Data;
  }
  memOperationType @17 :UInt32;
  memHandleType @18 :UInt32;
  memHandle :group {
    memHandle @19 :UInt64 $handle $usedIf("memOperationType == CU_MEM_OPERATION_TYPE_MAP");
  }
  offset @20 :UInt64;
  deviceBitMask @21 :UInt32;
  flags @22 :UInt32;
}

struct StreamBatchMemOpParams $c("CUstreamBatchMemOpParams") {
  operation @0 :UInt32;            # where each of the union's members begins
  body :union $c("") $by("operation") {
    waitValue :group $when("CU_STREAM_MEM_OP_WAIT_VALUE_32 CU_STREAM_MEM_OP_WAIT_VALUE_64") $omits("operation value") {
      address @1 :UInt64 $deviceptr;
      value64 @2 :UInt64;          # value lies in its lower half
      flags @3 :UInt32;
      alias @4 :UInt64 $deviceptr;
    }
    writeValue :group $when("CU_STREAM_MEM_OP_WRITE_VALUE_32 CU_STREAM_MEM_OP_WRITE_VALUE_64") $omits("operation value") {
      address @5 :UInt64 $deviceptr;
      value64 @6 :UInt64;
      flags @7 :UInt32;
      alias @8 :UInt64 $deviceptr;
    }
    flushRemoteWrites :group $when("CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES") $omits("operation") {
      flags @9 :UInt32;
    }
    memoryBarrier :group $when("CU_STREAM_MEM_OP_BARRIER") $omits("operation") {
      flags @10 :UInt32;
    }
    otherwise @11 :Data;
  }
}

# These have no structure of C behind them: what the hand-written calls send.
struct Layout {
  # The layout of a kernel's parameters: offset and size of each, in bytes.
  isKnown @0 :Bool;
  offsets @1 :List(UInt32);
  sizes @2 :List(UInt32);
  maxThreads @3 :UInt32;           # of a block; 0: not known
}

struct KernelFact {
  # An attribute of a kernel on the current context's device.
  attribute @0 :UInt32;
  value @1 :Int32;
}

struct NamedKernel {
  # A kernel of a library. Without an answer the driver does not tell about the kernel.
  name @0 :Text;
  answer @1 :Data;                 # the frame that libraryGetKernel would answer
}

struct MemoryPart {
  # Bytes of host memory that both sides have a copy of.
  address @0 :UInt64;
  data @1 :Data;
  mask @2 :Data;                   # a bit for each byte: those that are changed; nothing: all of them
  isCopied @3 :Bool;               # the data of a copy that was deferred: only the client has this memory
}

struct KernelNodeParams {
  function @0 :UInt64 $handle;
  kernel @1 :UInt64 $handle;
  context @2 :UInt64 $handle;
  gridDimX @3 :UInt32;
  gridDimY @4 :UInt32;
  gridDimZ @5 :UInt32;
  blockDimX @6 :UInt32;
  blockDimY @7 :UInt32;
  blockDimZ @8 :UInt32;
  sharedMemBytes @9 :UInt32;
  parameters @10 :Data;            # one after another, each where the kernel wants it
}

struct DeviceLaunch {
  # One device's part of a cooperative launch on several.
  function @0 :UInt64 $handle;
  gridDimX @1 :UInt32;
  gridDimY @2 :UInt32;
  gridDimZ @3 :UInt32;
  blockDimX @4 :UInt32;
  blockDimY @5 :UInt32;
  blockDimZ @6 :UInt32;
  sharedMemBytes @7 :UInt32;
  stream @8 :UInt64 $handle;
  parameters @9 :Data;             # one after another, each where the kernel wants it
}

struct Image {
  # A module's code. The first of a list is the image to load, the others are the code that nvcc linked into it beforehand.
  data @0 :Data;
  uploaded @1 :UInt64;             # or the number under which it was sent before
}

struct JitOption {
  # A CUjit_option or a CUlibraryOption and its value: a number, or for the buffers their contents.
  option @0 :UInt32;
  value @1 :UInt64;
  contents @2 :Data;
}

# ---- functions ----

interface Driver {
  array3DCreate @0 (descriptor :Array3dDescriptorV1) -> (handle :UInt64 $handle)
      $c("cuArray3DCreate") $class(sync) $does([makes, takes, barred]) $since(2000);
  array3DCreateV2 @1 (descriptor :Array3dDescriptor) -> (handle :UInt64 $handle)
      $c("cuArray3DCreate_v2") $class(sync) $does([makes, mayWait, takes]) $since(3020);
  array3DGetDescriptor @2 (array :UInt64 $handle) -> (descriptor :Array3dDescriptorV1)
      $c("cuArray3DGetDescriptor") $class(sync) $does([plain]) $since(2000);
  array3DGetDescriptorV2 @3 (array :UInt64 $handle) -> (descriptor :Array3dDescriptor)
      $c("cuArray3DGetDescriptor_v2") $class(sync) $does([plain]) $since(3020);
  arrayCreate @4 (descriptor :ArrayDescriptorV1) -> (handle :UInt64 $handle)
      $c("cuArrayCreate") $class(sync) $does([makes, takes, barred]) $since(2000);
  arrayCreateV2 @5 (descriptor :ArrayDescriptor) -> (handle :UInt64 $handle)
      $c("cuArrayCreate_v2") $class(sync) $does([makes, mayWait, takes]) $since(3020);
  arrayDestroy @6 (array :UInt64 $handle) -> ()
      $c("cuArrayDestroy") $class(sync) $does([ends, mayWait, synchronizes, gives]) $since(2000);
  arrayGetDescriptor @7 (array :UInt64 $handle) -> (descriptor :ArrayDescriptorV1)
      $c("cuArrayGetDescriptor") $class(sync) $does([plain]) $since(2000);
  arrayGetDescriptorV2 @8 (array :UInt64 $handle) -> (descriptor :ArrayDescriptor)
      $c("cuArrayGetDescriptor_v2") $class(sync) $does([plain]) $since(3020);
  arrayGetMemoryRequirements @9 (array :UInt64 $handle, device :Int32 $handle) -> (memoryRequirements :ArrayMemoryRequirements)
      $c("cuArrayGetMemoryRequirements") $class(sync) $does([plain]) $since(11060);
  arrayGetPlane @10 (array :UInt64 $handle, planeIdx :UInt32) -> (planeArray :UInt64 $handle)
      $c("cuArrayGetPlane") $class(sync) $does([gets]) $since(11020);
  arrayGetSparseProperties @11 (array :UInt64 $handle) -> (sparseProperties :ArraySparseProperties)
      $c("cuArrayGetSparseProperties") $class(sync) $does([plain]) $since(11010);
  checkpointProcessCheckpoint @12 () -> ()
      $c("cuCheckpointProcessCheckpoint") $class(refused) $reason(.checkpoint) $since(12080);
  checkpointProcessGetRestoreThreadId @13 () -> ()
      $c("cuCheckpointProcessGetRestoreThreadId") $class(refused) $reason(.checkpoint) $since(12080);
  checkpointProcessGetState @14 () -> () $c("cuCheckpointProcessGetState") $class(refused) $reason(.checkpoint) $since(12080);
  checkpointProcessLock @15 () -> () $c("cuCheckpointProcessLock") $class(refused) $reason(.checkpoint) $since(12080);
  checkpointProcessRestore @16 () -> () $c("cuCheckpointProcessRestore") $class(refused) $reason(.checkpoint) $since(12080);
  checkpointProcessUnlock @17 () -> () $c("cuCheckpointProcessUnlock") $class(refused) $reason(.checkpoint) $since(12080);
  coredumpGetAttribute @18 () -> () $c("cuCoredumpGetAttribute") $class(refused) $reason(.coredump) $since(12010);
  coredumpGetAttributeGlobal @19 () -> () $c("cuCoredumpGetAttributeGlobal") $class(refused) $reason(.coredump) $since(12010);
  coredumpSetAttribute @20 () -> () $c("cuCoredumpSetAttribute") $class(refused) $reason(.coredump) $since(12010);
  coredumpSetAttributeGlobal @21 () -> () $c("cuCoredumpSetAttributeGlobal") $class(refused) $reason(.coredump) $since(12010);
  ctxAttach @22 (flags :UInt32) -> (context :UInt64 $handle) $c("cuCtxAttach") $class(sync) $does([makes, counts]) $since(2000);
  ctxCreate @23 () -> () $c("cuCtxCreate") $class(local) $does([makes, counts]) $bySwitch $since(2000);
  ctxCreateV2 @24 (flags :UInt32, device :Int32 $handle) -> (context :UInt64 $handle)
      $c("cuCtxCreate_v2") $class(custom) $byHand(client) $does([makes, leavesCurrent, counts]) $bySwitch $since(3020);
  ctxCreateV3 @25 (params :List(ExecAffinityParam) $count("paramCount") $nullable, flags :UInt32, device :Int32 $handle) ->
      (context :UInt64 $handle)
      $c("cuCtxCreate_v3") $class(custom) $byHand(client) $does([makes, leavesCurrent, counts]) $bySwitch $since(11040);
  ctxCreateV4 @26 () -> () $c("cuCtxCreate_v4") $class(local) $does([makes, counts]) $bySwitch $since(12050);
  ctxDestroy @27 () -> () $c("cuCtxDestroy") $class(local) $does([ends, gives]) $bySwitch $since(2000);
  ctxDestroyV2 @28 (context :UInt64 $handle) -> ()
      $c("cuCtxDestroy_v2") $class(custom) $byHand(client) $forgets("*") $does([ends, endsContext, mayWait, gives]) $bySwitch
      $since(4000);
  ctxDetach @29 (context :UInt64 $handle) -> ()
      $c("cuCtxDetach") $class(sync) $forgets("*") $does([dropsStock, mayWait, gives]) $since(2000);
  ctxDisablePeerAccess @30 (peerContext :UInt64 $handle) -> ()
      $c("cuCtxDisablePeerAccess") $class(sync) $forgets("pointerGetAttribute pointerGetAttributes") $does([plain]) $bySwitch
      $since(4000);
  ctxEnablePeerAccess @31 (peerContext :UInt64 $handle, flags :UInt32) -> ()
      $c("cuCtxEnablePeerAccess") $class(sync) $forgets("pointerGetAttribute pointerGetAttributes") $does([plain]) $bySwitch
      $since(4000);
  ctxFromGreenCtx @32 (greenContext :UInt64 $handle) -> (context :UInt64 $handle)
      $c("cuCtxFromGreenCtx") $class(custom) $byHand(server) $does([gets]) $since(12040);
  ctxGetApiVersion @33 (context :UInt64 $handle) -> (version :UInt32)
      $c("cuCtxGetApiVersion") $class(cached) $does([plain]) $since(3020);
  ctxGetCacheConfig @34 () -> (config :UInt32) $c("cuCtxGetCacheConfig") $class(sync) $does([plain]) $since(3020);
  ctxGetCurrent @35 () -> () $c("cuCtxGetCurrent") $class(local) $does([offline]) $bySwitch $since(4000);
  ctxGetDevResource @36 (context :UInt64 $handle, type :UInt32) -> (resource :Data $bytesOf("sizeof(CUdevResource)"))
      $c("cuCtxGetDevResource") $class(sync) $does([plain]) $since(12040);
  ctxGetDevice @37 () -> (device :Int32 $handle)
      $c("cuCtxGetDevice") $class(custom) $byHand(client) $isCached $does([gets]) $since(2000);
  ctxGetDeviceV2 @38 (context :UInt64 $handle) -> (device :Int32 $handle)
      $c("cuCtxGetDevice_v2") $class(custom) $byHand(client) $isCached $does([gets]) $since(13000);
  ctxGetExecAffinity @39 (type :UInt32) -> (execAffinity :ExecAffinityParam)
      $c("cuCtxGetExecAffinity") $class(sync) $does([plain]) $since(11040);
  ctxGetFlags @40 () -> (flags :UInt32) $c("cuCtxGetFlags") $class(sync) $does([plain]) $since(7000);
  ctxGetId @41 (context :UInt64 $handle) -> (id :UInt64) $c("cuCtxGetId") $class(cached) $does([plain]) $since(12000);
  ctxGetLimit @42 (limit :UInt32) -> (value :UInt64)
      $c("cuCtxGetLimit") $class(custom) $byHand(client) $isCached $does([ofCode]) $since(3010);
  ctxGetSharedMemConfig @43 () -> (config :UInt32) $c("cuCtxGetSharedMemConfig") $class(sync) $does([plain]) $since(4020);
  ctxGetStreamPriorityRange @44 () -> (leastPriority :Int32 $nullable, greatestPriority :Int32 $nullable)
      $c("cuCtxGetStreamPriorityRange") $class(cached) $does([ofCode]) $since(5050);
  ctxPopCurrent @45 () -> () $c("cuCtxPopCurrent") $class(local) $does([plain]) $bySwitch $since(2000);
  ctxPopCurrentV2 @46 () -> () $c("cuCtxPopCurrent_v2") $class(local) $does([plain]) $bySwitch $since(4000);
  ctxPushCurrent @47 () -> () $c("cuCtxPushCurrent") $class(local) $does([plain]) $bySwitch $since(2000);
  ctxPushCurrentV2 @48 () -> () $c("cuCtxPushCurrent_v2") $class(local) $does([plain]) $bySwitch $since(4000);
  ctxRecordEvent @49 (context :UInt64 $handle, event :UInt64 $handle) -> ()
      $c("cuCtxRecordEvent") $class(async) $does([plain]) $since(12050);
  ctxResetPersistingL2Cache @50 () -> () $c("cuCtxResetPersistingL2Cache") $class(sync) $does([plain]) $since(11000);
  ctxSetCacheConfig @51 (config :UInt32) -> ()
      $c("cuCtxSetCacheConfig") $class(sync) $forgets("ofSettings") $does([plain]) $since(3020);
  ctxSetCurrent @52 () -> () $c("cuCtxSetCurrent") $class(local) $does([plain]) $bySwitch $since(4000);
  ctxSetFlags @53 (flags :UInt32) -> ()
      $c("cuCtxSetFlags") $class(custom) $byHand(client) $forgets("devicePrimaryCtxGetState") $does([plain]) $since(12010);
  ctxSetLimit @54 (limit :UInt32, value :UInt64) -> ()
      $c("cuCtxSetLimit") $class(sync) $forgets("ctxGetLimit") $does([takes]) $since(3010);
  ctxSetSharedMemConfig @55 (config :UInt32) -> ()
      $c("cuCtxSetSharedMemConfig") $class(sync) $forgets("ofSettings") $does([plain]) $since(4020);
  ctxSynchronize @56 () -> ()
      $c("cuCtxSynchronize") $class(sync) $does([waits, synchronizes, reports, touches, counts]) $since(2000);
  ctxSynchronizeV2 @57 (context :UInt64 $handle) -> ()
      $c("cuCtxSynchronize_v2") $class(sync) $does([waits, synchronizes, reports, touches]) $since(13000);
  ctxWaitEvent @58 (context :UInt64 $handle, event :UInt64 $handle) -> ()
      $c("cuCtxWaitEvent") $class(async) $does([plain]) $since(12050);
  destroyExternalMemory @59 () -> () $c("cuDestroyExternalMemory") $class(refused) $reason(.external) $since(10000);
  destroyExternalSemaphore @60 () -> () $c("cuDestroyExternalSemaphore") $class(refused) $reason(.external) $since(10000);
  devResourceGenerateDesc @61 (resources :Data $bytesOf("resource_count * sizeof(CUdevResource)"), resourceCount :UInt32) ->
      (descriptor :UInt64 $handle)
      $c("cuDevResourceGenerateDesc") $class(sync) $does([makes]) $since(12040);
  devSmResourceSplitByCount @62 (groupCount :UInt32, wantsResult :Bool $wants("result"), input :Data
      $bytesOf("sizeof(CUdevResource)"), useFlags :UInt32, minCount :UInt32) -> (result :Data
      $bytesOf("*group_count * sizeof(CUdevResource)"), groupCount :UInt32, remaining :Data $bytesOf("sizeof(CUdevResource)")
      $nullable)
      $c("cuDevSmResourceSplitByCount") $class(sync) $does([plain]) $since(12040);
  deviceCanAccessPeer @63 (device :Int32 $handle, peerDev :Int32 $handle) -> (canAccessPeer :Int32)
      $c("cuDeviceCanAccessPeer") $class(cached) $does([anyContext]) $bySwitch $since(4000);
  deviceComputeCapability @64 (device :Int32 $handle) -> (majorVersion :Int32, minorVersion :Int32)
      $c("cuDeviceComputeCapability") $class(cached) $does([anyContext]) $since(2000);
  deviceGet @65 (ordinal :Int32) -> (device :Int32 $handle)
      $c("cuDeviceGet") $class(cached) $does([gets, anyContext]) $bySwitch $since(2000);
  deviceGetAttribute @66 (attribute :UInt32, device :Int32 $handle) -> (value :Int32)
      $c("cuDeviceGetAttribute") $class(custom) $byHand(client) $isCached $does([anyContext]) $since(2000);
  deviceGetByPCIBusId @67 (busId :Text) -> (device :Int32 $handle)
      $c("cuDeviceGetByPCIBusId") $class(cached) $does([gets, anyContext]) $bySwitch $since(4010);
  deviceGetCount @68 () -> (count :Int32) $c("cuDeviceGetCount") $class(cached) $does([anyContext]) $bySwitch $since(2000);
  deviceGetDefaultMemPool @69 (device :Int32 $handle) -> (pool :UInt64 $handle)
      $c("cuDeviceGetDefaultMemPool") $class(cached) $does([gets, anyContext]) $since(11020);
  deviceGetDevResource @70 (device :Int32 $handle, type :UInt32) -> (resource :Data $bytesOf("sizeof(CUdevResource)"))
      $c("cuDeviceGetDevResource") $class(sync) $does([plain]) $since(12040);
  deviceGetExecAffinitySupport @71 (type :UInt32, device :Int32 $handle) -> (value :Int32)
      $c("cuDeviceGetExecAffinitySupport") $class(cached) $does([anyContext]) $since(11040);
  deviceGetGraphMemAttribute @72 (device :Int32 $handle, attribute :UInt32) -> (value :Data $bytesOf("sizeof(uint64_t)"))
      $c("cuDeviceGetGraphMemAttribute") $class(sync) $does([plain]) $since(11040);
  deviceGetHostAtomicCapabilities @73 (operations :List(UInt32) $count("count"), device :Int32 $handle) -> (capabilities
      :List(UInt32) $count("count"))
      $c("cuDeviceGetHostAtomicCapabilities") $class(cached) $does([anyContext]) $since(13000);
  deviceGetLuid @74 (device :Int32 $handle) -> (luid :Data $bytesOf("8"), deviceNodeMask :UInt32)
      $c("cuDeviceGetLuid") $class(cached) $does([anyContext]) $since(10000);
  deviceGetMemPool @75 (device :Int32 $handle) -> (pool :UInt64 $handle)
      $c("cuDeviceGetMemPool") $class(sync) $does([gets]) $since(11020);
  deviceGetName @76 (len :Int32, device :Int32 $handle) -> (name :Text $capacity("len"))
      $c("cuDeviceGetName") $class(cached) $does([anyContext]) $since(2000);
  deviceGetNvSciSyncAttributes @77 () -> () $c("cuDeviceGetNvSciSyncAttributes") $class(refused) $reason(.nvSci) $since(10020);
  deviceGetP2PAtomicCapabilities @78 (operations :List(UInt32) $count("count"), srcDevice :Int32 $handle, dstDevice :Int32
      $handle) -> (capabilities :List(UInt32) $count("count"))
      $c("cuDeviceGetP2PAtomicCapabilities") $class(cached) $does([anyContext]) $since(13000);
  deviceGetP2PAttribute @79 (attribute :UInt32, srcDevice :Int32 $handle, dstDevice :Int32 $handle) -> (value :Int32)
      $c("cuDeviceGetP2PAttribute") $class(cached) $does([anyContext]) $bySwitch $since(8000);
  deviceGetPCIBusId @80 (len :Int32, device :Int32 $handle) -> (busId :Text $capacity("len"))
      $c("cuDeviceGetPCIBusId") $class(cached) $does([anyContext]) $since(4010);
  deviceGetProperties @81 (device :Int32 $handle) -> (properties :Devprop)
      $c("cuDeviceGetProperties") $class(cached) $does([anyContext]) $since(2000);
  deviceGetTexture1DLinearMaxWidth @82 (format :UInt32, channelCount :UInt32, device :Int32 $handle) -> (maxWidthInElements
      :UInt64)
      $c("cuDeviceGetTexture1DLinearMaxWidth") $class(cached) $does([anyContext]) $since(11010);
  deviceGetUuid @83 (device :Int32 $handle) -> (uuid :Data $bytesOf("sizeof(CUuuid)"))
      $c("cuDeviceGetUuid") $class(cached) $does([anyContext]) $since(9020);
  deviceGetUuidV2 @84 (device :Int32 $handle) -> (uuid :Data $bytesOf("sizeof(CUuuid)"))
      $c("cuDeviceGetUuid_v2") $class(cached) $does([anyContext]) $since(11040);
  deviceGraphMemTrim @85 (device :Int32 $handle) -> () $c("cuDeviceGraphMemTrim") $class(sync)
      $forgets("pointerGetAttribute pointerGetAttributes") $does([gives]) $since(11040);
  devicePrimaryCtxGetState @86 (device :Int32 $handle) -> (flags :UInt32, active :Int32)
      $c("cuDevicePrimaryCtxGetState") $class(custom) $byHand(client) $isCached $does([anyContext]) $since(7000);
  devicePrimaryCtxRelease @87 (device :Int32 $handle) -> ()
      $c("cuDevicePrimaryCtxRelease") $class(custom) $byHand(client) $forgets("*") $does([ends, releasesDevice, mayWait, gives])
      $bySwitch $since(7000);
  devicePrimaryCtxReleaseV2 @88 (device :Int32 $handle) -> ()
      $c("cuDevicePrimaryCtxRelease_v2") $class(custom) $byHand(client) $forgets("*")
      $does([ends, releasesDevice, mayWait, gives]) $bySwitch $since(11000);
  devicePrimaryCtxReset @89 (device :Int32 $handle) -> ()
      $c("cuDevicePrimaryCtxReset") $class(custom) $byHand(client) $forgets("*")
      $does([dropsStock, resetsDevice, mayWait, gives]) $bySwitch $since(7000);
  devicePrimaryCtxResetV2 @90 (device :Int32 $handle) -> ()
      $c("cuDevicePrimaryCtxReset_v2") $class(custom) $byHand(client) $forgets("*")
      $does([dropsStock, resetsDevice, mayWait, gives]) $bySwitch $since(11000);
  devicePrimaryCtxRetain @91 (device :Int32 $handle) -> (context :UInt64 $handle)
      $c("cuDevicePrimaryCtxRetain") $class(custom) $byHand(client) $forgets("devicePrimaryCtxGetState")
      $does([makes, counts, retainsDevice]) $bySwitch $since(7000);
  devicePrimaryCtxSetFlags @92 (device :Int32 $handle, flags :UInt32) -> ()
      $c("cuDevicePrimaryCtxSetFlags") $class(custom) $byHand(client) $forgets("devicePrimaryCtxGetState") $does([plain])
      $since(7000);
  devicePrimaryCtxSetFlagsV2 @93 (device :Int32 $handle, flags :UInt32) -> ()
      $c("cuDevicePrimaryCtxSetFlags_v2") $class(custom) $byHand(client) $forgets("devicePrimaryCtxGetState") $does([plain])
      $since(11000);
  deviceRegisterAsyncNotification @94 () -> ()
      $c("cuDeviceRegisterAsyncNotification") $class(refused) $reason(.notifications) $since(12040);
  deviceSetGraphMemAttribute @95 (device :Int32 $handle, attribute :UInt32, value :Data $bytesOf("sizeof(uint64_t)")) -> ()
      $c("cuDeviceSetGraphMemAttribute") $class(sync) $does([plain]) $since(11040);
  deviceSetMemPool @96 (device :Int32 $handle, pool :UInt64 $handle) -> ()
      $c("cuDeviceSetMemPool") $class(sync) $does([changesPools]) $since(11020);
  deviceTotalMem @97 (device :Int32 $handle) -> (bytes :UInt32)
      $c("cuDeviceTotalMem") $class(cached) $does([counts, barred, anyContext]) $since(2000);
  deviceTotalMemV2 @98 (device :Int32 $handle) -> (bytes :UInt64)
      $c("cuDeviceTotalMem_v2") $class(cached) $does([counts, anyContext]) $since(3020);
  deviceUnregisterAsyncNotification @99 () -> ()
      $c("cuDeviceUnregisterAsyncNotification") $class(refused) $reason(.notifications) $since(12040);
  driverGetVersion @100 () -> (driverVersion :Int32)
      $c("cuDriverGetVersion") $class(custom) $byHand(client) $does([early]) $bySwitch $since(2020);
  eventCreate @101 (flags :UInt32) -> (event :UInt64 $handle)
      $c("cuEventCreate") $class(sync) $does([makes, stocked, noWork]) $since(2000);
  eventDestroy @102 (event :UInt64 $handle) -> () $c("cuEventDestroy") $class(async) $does([ends]) $since(2000);
  eventDestroyV2 @103 (event :UInt64 $handle) -> () $c("cuEventDestroy_v2") $class(async) $does([ends]) $since(4000);
  eventElapsedTime @104 (first :UInt64 $handle, last :UInt64 $handle) -> (milliseconds :Float32)
      $c("cuEventElapsedTime") $class(sync) $does([plain]) $since(2000);
  eventElapsedTimeV2 @105 (first :UInt64 $handle, last :UInt64 $handle) -> (milliseconds :Float32)
      $c("cuEventElapsedTime_v2") $class(sync) $does([plain]) $since(12080);
  eventQuery @106 (event :UInt64 $handle) -> ()
      $c("cuEventQuery") $class(sync) $does([synchronizes, reports, touches]) $since(2000);
  eventRecord @107 (event :UInt64 $handle, stream :UInt64 $handle) -> ()
      $c("cuEventRecord") $class(async) $does([records]) $since(2000) $ptsz(7000);
  eventRecordWithFlags @108 (event :UInt64 $handle, stream :UInt64 $handle, flags :UInt32) -> ()
      $c("cuEventRecordWithFlags") $class(custom) $byHand(client) $does([records]) $since(11010) $ptsz(11010);
  eventSynchronize @109 (event :UInt64 $handle) -> ()
      $c("cuEventSynchronize") $class(sync) $does([waits, synchronizes, reports, touches, counts]) $since(2000);
  externalMemoryGetMappedBuffer @110 () -> ()
      $c("cuExternalMemoryGetMappedBuffer") $class(refused) $reason(.external) $since(10000);
  externalMemoryGetMappedMipmappedArray @111 () -> ()
      $c("cuExternalMemoryGetMappedMipmappedArray") $class(refused) $reason(.external) $since(10000);
  flushGPUDirectRDMAWrites @112 (target :UInt32, scope :UInt32) -> ()
      $c("cuFlushGPUDirectRDMAWrites") $class(sync) $does([plain]) $since(11030);
  funcGetAttribute @113 (attribute :UInt32, function :UInt64 $handle) -> (value :Int32)
      $c("cuFuncGetAttribute") $class(custom) $byHand(client) $isCached $does([ofSettings, ofCode]) $since(2020);
  funcGetModule @114 (function :UInt64 $handle) -> (module :UInt64 $handle)
      $c("cuFuncGetModule") $class(cached) $does([gets]) $since(11000);
  funcGetName @115 (function :UInt64 $handle) -> (name :Text $kept(""))
      $c("cuFuncGetName") $class(cached) $does([plain]) $since(12030);
  funcGetParamInfo @116 (function :UInt64 $handle, paramIndex :UInt64) -> (paramOffset :UInt64, paramSize :UInt64 $nullable)
      $c("cuFuncGetParamInfo") $class(cached) $does([ofCode]) $since(12040);
  funcIsLoaded @117 (function :UInt64 $handle) -> (state :UInt32)
      $c("cuFuncIsLoaded") $class(sync) $does([plain]) $since(12040);
  funcLoad @118 (function :UInt64 $handle) -> () $c("cuFuncLoad") $class(sync) $does([plain]) $since(12040);
  funcSetAttribute @119 (function :UInt64 $handle, attribute :UInt32, value :Int32) -> ()
      $c("cuFuncSetAttribute") $class(custom) $byHand(client) $does([plain]) $since(9000);
  funcSetBlockShape @120 (function :UInt64 $handle, x :Int32, y :Int32, z :Int32) -> ()
      $c("cuFuncSetBlockShape") $class(sync) $forgets("ofSettings") $does([plain]) $since(2000);
  funcSetCacheConfig @121 (function :UInt64 $handle, config :UInt32) -> ()
      $c("cuFuncSetCacheConfig") $class(sync) $forgets("ofSettings") $does([plain]) $since(3000);
  funcSetSharedMemConfig @122 (function :UInt64 $handle, config :UInt32) -> ()
      $c("cuFuncSetSharedMemConfig") $class(sync) $forgets("ofSettings") $does([plain]) $since(4020);
  funcSetSharedSize @123 (function :UInt64 $handle, bytes :UInt32) -> ()
      $c("cuFuncSetSharedSize") $class(sync) $forgets("ofSettings") $does([plain]) $since(2000);
  getErrorName @124 () -> () $c("cuGetErrorName") $class(local) $does([plain]) $bySwitch $since(6000);
  getErrorString @125 () -> () $c("cuGetErrorString") $class(local) $does([plain]) $bySwitch $since(6000);
  getExportTable @126 () -> () $c("cuGetExportTable") $class(local) $does([plain]) $bySwitch $since(3000);
  getProcAddress @127 () -> () $c("cuGetProcAddress") $class(local) $does([plain]) $bySwitch $since(11030);
  getProcAddressV2 @128 () -> () $c("cuGetProcAddress_v2") $class(local) $does([plain]) $bySwitch $since(12000);
  graphAddBatchMemOpNode @129 (graph :UInt64 $handle, dependencies :List(UInt64) $handle $count("dependencyCount") $nullable,
      params :BatchMemOpNodeParams) -> (node :UInt64 $handle)
      $c("cuGraphAddBatchMemOpNode") $class(sync) $does([makes, awaitsOthers]) $since(11070);
  graphAddChildGraphNode @130 (graph :UInt64 $handle, dependencies :List(UInt64) $handle $count("dependencyCount") $nullable,
      childGraph :UInt64 $handle) -> (node :UInt64 $handle)
      $c("cuGraphAddChildGraphNode") $class(sync) $does([makes]) $since(10000);
  graphAddDependencies @131 (graph :UInt64 $handle, from :List(UInt64) $handle $count("dependencyCount") $nullable, to
      :List(UInt64) $handle $count("dependencyCount") $nullable) -> ()
      $c("cuGraphAddDependencies") $class(sync) $does([plain]) $since(10000);
  graphAddDependenciesV2 @132 (graph :UInt64 $handle, from :List(UInt64) $handle $count("dependencyCount") $nullable, to
      :List(UInt64) $handle $count("dependencyCount") $nullable, edges :List(GraphEdgeData) $count("dependencyCount") $nullable)
      -> ()
      $c("cuGraphAddDependencies_v2") $class(sync) $does([plain]) $since(12030);
  graphAddEmptyNode @133 (graph :UInt64 $handle, dependencies :List(UInt64) $handle $count("dependencyCount") $nullable) -> (node
      :UInt64 $handle)
      $c("cuGraphAddEmptyNode") $class(sync) $does([makes]) $since(10000);
  graphAddEventRecordNode @134 (graph :UInt64 $handle, dependencies :List(UInt64) $handle $count("dependencyCount") $nullable,
      event :UInt64 $handle) -> (node :UInt64 $handle)
      $c("cuGraphAddEventRecordNode") $class(sync) $does([makes]) $since(11010);
  graphAddEventWaitNode @135 (graph :UInt64 $handle, dependencies :List(UInt64) $handle $count("dependencyCount") $nullable, event
      :UInt64 $handle) -> (node :UInt64 $handle)
      $c("cuGraphAddEventWaitNode") $class(sync) $does([makes]) $since(11010);
  graphAddExternalSemaphoresSignalNode @136 () -> ()
      $c("cuGraphAddExternalSemaphoresSignalNode") $class(refused) $reason(.external) $since(11020);
  graphAddExternalSemaphoresWaitNode @137 () -> ()
      $c("cuGraphAddExternalSemaphoresWaitNode") $class(refused) $reason(.external) $since(11020);
  graphAddHostNode @138 (graph :UInt64 $handle, dependencies :List(UInt64) $handle, callback :UInt64) -> (node :UInt64
      $handle)
      $c("cuGraphAddHostNode") $class(custom) $byHand(both) $does([makes, awaitsOthers]) $since(10000);
  graphAddKernelNode @139 () -> () $c("cuGraphAddKernelNode") $class(local) $does([makes]) $since(10000);
  graphAddKernelNodeV2 @140 (graph :UInt64 $handle, dependencies :List(UInt64) $handle, kernel :KernelNodeParams) -> (node :UInt64
      $handle)
      $c("cuGraphAddKernelNode_v2") $class(custom) $byHand(both) $does([makes]) $since(12000);
  graphAddMemAllocNode @141 (graph :UInt64 $handle, dependencies :List(UInt64) $handle $count("dependencyCount") $nullable, params
      :MemAllocNodeParams) -> (node :UInt64 $handle, params :MemAllocNodeParams)
      $c("cuGraphAddMemAllocNode") $class(custom) $byHand(client) $does([makes, takes]) $since(11040);
  graphAddMemFreeNode @142 (graph :UInt64 $handle, dependencies :List(UInt64) $handle $count("dependencyCount") $nullable, address
      :UInt64 $deviceptr) -> (node :UInt64 $handle)
      $c("cuGraphAddMemFreeNode") $class(sync) $does([makes]) $since(11040);
  graphAddMemcpyNode @143 (graph :UInt64 $handle, dependencies :List(UInt64) $handle $count("dependencyCount") $nullable, copy
      :Memcpy3d, context :UInt64 $handle) -> (node :UInt64 $handle)
      $c("cuGraphAddMemcpyNode") $class(custom) $byHand(client) $does([makes]) $since(10000);
  graphAddMemsetNode @144 (graph :UInt64 $handle, dependencies :List(UInt64) $handle $count("dependencyCount") $nullable, params
      :MemsetNodeParams, context :UInt64 $handle) -> (node :UInt64 $handle)
      $c("cuGraphAddMemsetNode") $class(sync) $does([makes]) $since(10000);
  graphAddNode @145 () -> () $c("cuGraphAddNode") $class(local) $does([makes, awaitsOthers, takes]) $since(12020);
  graphAddNodeV2 @146 () -> () $c("cuGraphAddNode_v2") $class(local) $does([makes, awaitsOthers, takes]) $since(12030);
  graphBatchMemOpNodeGetParams @147 (node :UInt64 $handle) -> (params :BatchMemOpNodeParams $kept("node"))
      $c("cuGraphBatchMemOpNodeGetParams") $class(sync) $does([plain]) $since(11070);
  graphBatchMemOpNodeSetParams @148 (node :UInt64 $handle, params :BatchMemOpNodeParams) -> ()
      $c("cuGraphBatchMemOpNodeSetParams") $class(sync) $does([plain]) $since(11070);
  graphChildGraphNodeGetGraph @149 (node :UInt64 $handle) -> (graph :UInt64 $handle)
      $c("cuGraphChildGraphNodeGetGraph") $class(sync) $does([gets]) $since(10000);
  graphClone @150 (original :UInt64 $handle) -> (clone :UInt64 $handle)
      $c("cuGraphClone") $class(sync) $does([makes]) $since(10000);
  graphConditionalHandleCreate @151 (graph :UInt64 $handle, context :UInt64 $handle, defaultLaunchValue :UInt32, flags :UInt32) ->
      (handle :UInt64 $handle)
      $c("cuGraphConditionalHandleCreate") $class(sync) $does([makes]) $since(12030);
  graphCreate @152 (flags :UInt32) -> (graph :UInt64 $handle) $c("cuGraphCreate") $class(sync) $does([makes]) $since(10000);
  graphDebugDotPrint @153 (graph :UInt64 $handle, flags :UInt32) -> (text :Data)
      $c("cuGraphDebugDotPrint") $class(custom) $byHand(both) $does([plain]) $since(11030);
  graphDestroy @154 (graph :UInt64 $handle) -> ()
      $c("cuGraphDestroy") $class(sync) $forgets("graphNodeGetType graphExecKernelNodeSetParamsV2") $does([ends, gives]) $since(10000);
  graphDestroyNode @155 (node :UInt64 $handle) -> ()
      $c("cuGraphDestroyNode") $class(sync) $forgets("graphNodeGetType graphExecKernelNodeSetParamsV2") $does([ends]) $since(10000);
  graphEventRecordNodeGetEvent @156 (node :UInt64 $handle) -> (event :UInt64 $handle)
      $c("cuGraphEventRecordNodeGetEvent") $class(sync) $does([gets]) $since(11010);
  graphEventRecordNodeSetEvent @157 (node :UInt64 $handle, event :UInt64 $handle) -> ()
      $c("cuGraphEventRecordNodeSetEvent") $class(sync) $does([plain]) $since(11010);
  graphEventWaitNodeGetEvent @158 (node :UInt64 $handle) -> (event :UInt64 $handle)
      $c("cuGraphEventWaitNodeGetEvent") $class(sync) $does([gets]) $since(11010);
  graphEventWaitNodeSetEvent @159 (node :UInt64 $handle, event :UInt64 $handle) -> ()
      $c("cuGraphEventWaitNodeSetEvent") $class(sync) $does([plain]) $since(11010);
  graphExecBatchMemOpNodeSetParams @160 (graphExec :UInt64 $handle, node :UInt64 $handle, params :BatchMemOpNodeParams) -> ()
      $c("cuGraphExecBatchMemOpNodeSetParams") $class(sync) $does([plain]) $since(11070);
  graphExecChildGraphNodeSetParams @161 (graphExec :UInt64 $handle, node :UInt64 $handle, childGraph :UInt64 $handle) -> ()
      $c("cuGraphExecChildGraphNodeSetParams") $class(sync) $does([plain]) $since(11010);
  graphExecDestroy @162 (graphExec :UInt64 $handle) -> ()
      $c("cuGraphExecDestroy") $class(sync) $forgets("graphExecKernelNodeSetParamsV2") $does([ends, gives]) $since(10000);
  graphExecEventRecordNodeSetEvent @163 (graphExec :UInt64 $handle, node :UInt64 $handle, event :UInt64 $handle) -> ()
      $c("cuGraphExecEventRecordNodeSetEvent") $class(sync) $does([plain]) $since(11010);
  graphExecEventWaitNodeSetEvent @164 (graphExec :UInt64 $handle, node :UInt64 $handle, event :UInt64 $handle) -> ()
      $c("cuGraphExecEventWaitNodeSetEvent") $class(sync) $does([plain]) $since(11010);
  graphExecExternalSemaphoresSignalNodeSetParams @165 () -> ()
      $c("cuGraphExecExternalSemaphoresSignalNodeSetParams") $class(refused) $reason(.external) $since(11020);
  graphExecExternalSemaphoresWaitNodeSetParams @166 () -> ()
      $c("cuGraphExecExternalSemaphoresWaitNodeSetParams") $class(refused) $reason(.external) $since(11020);
  graphExecGetFlags @167 (graphExec :UInt64 $handle) -> (flags :UInt64)
      $c("cuGraphExecGetFlags") $class(sync) $does([plain]) $since(12000);
  graphExecHostNodeSetParams @168 (graphExec :UInt64 $handle, node :UInt64 $handle, callback :UInt64) -> ()
      $c("cuGraphExecHostNodeSetParams") $class(custom) $byHand(both) $does([plain]) $since(10020);
  graphExecKernelNodeSetParams @169 () -> () $c("cuGraphExecKernelNodeSetParams") $class(local) $does([plain]) $since(10010);
  graphExecKernelNodeSetParamsV2 @170 (graphExec :UInt64 $handle, node :UInt64 $handle, kernel :KernelNodeParams) -> ()
      $c("cuGraphExecKernelNodeSetParams_v2") $class(custom) $byHand(both) $isCached $does([plain]) $since(12000);
  graphExecMemcpyNodeSetParams @171 (graphExec :UInt64 $handle, node :UInt64 $handle, copy :Memcpy3d, context :UInt64 $handle) ->
      ()
      $c("cuGraphExecMemcpyNodeSetParams") $differs(.madeWithout) $class(custom) $byHand(client) $does([plain]) $since(10020);
  graphExecMemsetNodeSetParams @172 (graphExec :UInt64 $handle, node :UInt64 $handle, params :MemsetNodeParams, context :UInt64
      $handle) -> ()
      $c("cuGraphExecMemsetNodeSetParams") $class(sync) $does([plain]) $since(10020);
  graphExecNodeSetParams @173 () -> () $c("cuGraphExecNodeSetParams") $differs(.madeWithout) $class(local) $does([plain]) $since(12020);
  graphExecUpdate @174 (graphExec :UInt64 $handle, graph :UInt64 $handle) -> (errorNode :UInt64 $handle $nullable, result :UInt32
      $nullable)
      $c("cuGraphExecUpdate") $class(sync) $byHand(client) $forgets("graphExecKernelNodeSetParamsV2") $evenFailed $does([gets])
      $since(10020);
  graphExecUpdateV2 @175 (graphExec :UInt64 $handle, graph :UInt64 $handle) -> (info :GraphExecUpdateResultInfo)
      $c("cuGraphExecUpdate_v2") $class(sync) $byHand(client) $forgets("graphExecKernelNodeSetParamsV2") $evenFailed $does([plain])
      $since(12000);
  graphExternalSemaphoresSignalNodeGetParams @176 () -> ()
      $c("cuGraphExternalSemaphoresSignalNodeGetParams") $class(refused) $reason(.external) $since(11020);
  graphExternalSemaphoresSignalNodeSetParams @177 () -> ()
      $c("cuGraphExternalSemaphoresSignalNodeSetParams") $class(refused) $reason(.external) $since(11020);
  graphExternalSemaphoresWaitNodeGetParams @178 () -> ()
      $c("cuGraphExternalSemaphoresWaitNodeGetParams") $class(refused) $reason(.external) $since(11020);
  graphExternalSemaphoresWaitNodeSetParams @179 () -> ()
      $c("cuGraphExternalSemaphoresWaitNodeSetParams") $class(refused) $reason(.external) $since(11020);
  graphGetEdges @180 (graph :UInt64 $handle, edgeCount :UInt64, wantsFrom :Bool $wants("from"), wantsTo :Bool $wants("to")) ->
      (from :List(UInt64) $handle $upTo("edgeCount"), to :List(UInt64) $handle $upTo("edgeCount"), edgeCount :UInt64)
      $c("cuGraphGetEdges") $class(sync) $does([gets]) $since(10000);
  graphGetEdgesV2 @181 (graph :UInt64 $handle, edgeCount :UInt64, wantsFrom :Bool $wants("from"), wantsTo :Bool $wants("to"),
      wantsEdges :Bool $wants("edges")) -> (from :List(UInt64) $handle $upTo("edgeCount"), to :List(UInt64) $handle
      $upTo("edgeCount"), edges :List(GraphEdgeData) $upTo("edgeCount"), edgeCount :UInt64)
      $c("cuGraphGetEdges_v2") $class(sync) $does([gets]) $since(12030);
  graphGetNodes @182 (graph :UInt64 $handle, nodeCount :UInt64, wantsNodes :Bool $wants("nodes")) -> (nodes :List(UInt64) $handle
      $upTo("nodeCount"), nodeCount :UInt64)
      $c("cuGraphGetNodes") $differs(.twoNodes) $class(sync) $does([gets]) $since(10000);
  graphGetRootNodes @183 (graph :UInt64 $handle, nodeCount :UInt64, wantsRootNodes :Bool $wants("rootNodes")) -> (rootNodes
      :List(UInt64) $handle $upTo("nodeCount"), nodeCount :UInt64)
      $c("cuGraphGetRootNodes") $class(sync) $does([gets]) $since(10000);
  graphHostNodeGetParams @184 (node :UInt64 $handle) -> (callback :UInt64)
      $c("cuGraphHostNodeGetParams") $class(custom) $byHand(both) $does([plain]) $since(10000);
  graphHostNodeSetParams @185 (node :UInt64 $handle, callback :UInt64) -> ()
      $c("cuGraphHostNodeSetParams") $class(custom) $byHand(both) $does([plain]) $since(10000);
  graphInstantiate @186 (graph :UInt64 $handle, bufferSize :UInt64) -> (graphExec :UInt64 $handle, errorNode :UInt64 $handle
      $nullable, logBuffer :Text $capacity("buffer_size") $nullable)
      $c("cuGraphInstantiate") $class(sync) $evenFailed $does([makes]) $since(10000);
  graphInstantiateWithFlags @187 (graph :UInt64 $handle, flags :UInt64) -> (graphExec :UInt64 $handle)
      $c("cuGraphInstantiateWithFlags") $class(sync) $does([makes]) $since(11040);
  graphInstantiateWithParams @188 (graph :UInt64 $handle, params :GraphInstantiateParams) -> (graphExec :UInt64 $handle, params
      :GraphInstantiateParams)
      $c("cuGraphInstantiateWithParams") $class(sync) $evenFailed $does([makes]) $since(12000) $ptsz(12000);
  graphInstantiateV2 @189 (graph :UInt64 $handle, bufferSize :UInt64) -> (graphExec :UInt64 $handle, errorNode :UInt64 $handle
      $nullable, logBuffer :Text $capacity("buffer_size") $nullable)
      $c("cuGraphInstantiate_v2") $class(sync) $evenFailed $does([makes]) $since(11000);
  graphKernelNodeCopyAttributes @190 (dst :UInt64 $handle, src :UInt64 $handle) -> ()
      $c("cuGraphKernelNodeCopyAttributes") $class(sync) $does([plain]) $since(11000);
  graphKernelNodeGetAttribute @191 (node :UInt64 $handle, attribute :UInt32) -> (value :Data
      $bytesOf("sizeof(CUlaunchAttributeValue)"))
      $c("cuGraphKernelNodeGetAttribute") $class(sync) $does([plain]) $since(11000);
  graphKernelNodeGetParams @192 () -> () $c("cuGraphKernelNodeGetParams") $class(local) $does([plain]) $since(10000);
  graphKernelNodeGetParamsV2 @193 (node :UInt64 $handle) -> (kernel :KernelNodeParams, layout :Layout)
      $c("cuGraphKernelNodeGetParams_v2") $class(custom) $byHand(both) $does([plain]) $since(12000);
  graphKernelNodeSetAttribute @194 (node :UInt64 $handle, attribute :UInt32, value :Data
      $bytesOf("sizeof(CUlaunchAttributeValue)")) -> ()
      $c("cuGraphKernelNodeSetAttribute") $class(sync) $does([plain]) $since(11000);
  graphKernelNodeSetParams @195 () -> () $c("cuGraphKernelNodeSetParams") $class(local) $does([plain]) $since(10000);
  graphKernelNodeSetParamsV2 @196 (node :UInt64 $handle, kernel :KernelNodeParams) -> ()
      $c("cuGraphKernelNodeSetParams_v2") $class(custom) $byHand(both) $does([plain]) $since(12000);
  graphLaunch @197 (graph :UInt64 $handle, stream :UInt64 $handle) -> ()
      $c("cuGraphLaunch") $class(async) $does([launches, touches, takes, occupies]) $since(10000) $ptsz(10000);
  graphMemAllocNodeGetParams @198 (node :UInt64 $handle) -> (params :MemAllocNodeParams $kept("node"))
      $c("cuGraphMemAllocNodeGetParams") $class(sync) $does([plain]) $since(11040);
  graphMemFreeNodeGetParams @199 (node :UInt64 $handle) -> (address :UInt64 $deviceptr)
      $c("cuGraphMemFreeNodeGetParams") $class(sync) $does([gets]) $since(11040);
  graphMemcpyNodeGetParams @200 (node :UInt64 $handle) -> (params :Memcpy3d)
      $c("cuGraphMemcpyNodeGetParams") $class(custom) $byHand(client) $does([plain]) $since(10000);
  graphMemcpyNodeSetParams @201 (node :UInt64 $handle, params :Memcpy3d) -> ()
      $c("cuGraphMemcpyNodeSetParams") $differs(.madeWithout) $class(custom) $byHand(client) $does([plain]) $since(10000);
  graphMemsetNodeGetParams @202 (node :UInt64 $handle) -> (params :MemsetNodeParams)
      $c("cuGraphMemsetNodeGetParams") $class(sync) $does([plain]) $since(10000);
  graphMemsetNodeSetParams @203 (node :UInt64 $handle, params :MemsetNodeParams) -> ()
      $c("cuGraphMemsetNodeSetParams") $class(sync) $does([plain]) $since(10000);
  graphNodeFindInClone @204 (original :UInt64 $handle, clone :UInt64 $handle) -> (node :UInt64 $handle)
      $c("cuGraphNodeFindInClone") $class(sync) $does([makes]) $since(10000);
  graphNodeGetDependencies @205 (node :UInt64 $handle, dependencyCount :UInt64, wantsDependencies :Bool $wants("dependencies")) ->
      (dependencies :List(UInt64) $handle $upTo("dependencyCount"), dependencyCount :UInt64)
      $c("cuGraphNodeGetDependencies") $class(sync) $does([gets]) $since(10000);
  graphNodeGetDependenciesV2 @206 (node :UInt64 $handle, dependencyCount :UInt64, wantsDependencies :Bool $wants("dependencies"),
      wantsEdges :Bool $wants("edges")) -> (dependencies :List(UInt64) $handle $upTo("dependencyCount"), edges
      :List(GraphEdgeData) $upTo("dependencyCount"), dependencyCount :UInt64)
      $c("cuGraphNodeGetDependencies_v2") $class(sync) $does([gets]) $since(12030);
  graphNodeGetDependentNodes @207 (node :UInt64 $handle, dependentCount :UInt64, wantsDependentNodes :Bool
      $wants("dependentNodes")) -> (dependentNodes :List(UInt64) $handle $upTo("dependentCount"), dependentCount :UInt64)
      $c("cuGraphNodeGetDependentNodes") $class(sync) $does([gets]) $since(10000);
  graphNodeGetDependentNodesV2 @208 (node :UInt64 $handle, dependentCount :UInt64, wantsDependentNodes :Bool
      $wants("dependentNodes"), wantsEdges :Bool $wants("edges")) -> (dependentNodes :List(UInt64) $handle
      $upTo("dependentCount"), edges :List(GraphEdgeData) $upTo("dependentCount"), dependentCount :UInt64)
      $c("cuGraphNodeGetDependentNodes_v2") $class(sync) $does([gets]) $since(12030);
  graphNodeGetEnabled @209 (graphExec :UInt64 $handle, node :UInt64 $handle) -> (isEnabled :UInt32)
      $c("cuGraphNodeGetEnabled") $differs(.copyNode) $class(sync) $does([plain]) $since(11060);
  graphNodeGetType @210 (node :UInt64 $handle) -> (type :UInt32)
      $c("cuGraphNodeGetType") $class(custom) $byHand(client) $isCached $does([plain]) $since(10000);
  graphNodeSetEnabled @211 (graphExec :UInt64 $handle, node :UInt64 $handle, isEnabled :UInt32) -> ()
      $c("cuGraphNodeSetEnabled") $differs(.copyNode) $class(sync) $does([plain]) $since(11060);
  graphNodeSetParams @212 () -> () $c("cuGraphNodeSetParams") $differs(.madeWithout) $class(local) $does([plain]) $since(12020);
  graphReleaseUserObject @213 (graph :UInt64 $handle, object :UInt64 $handle, count :UInt32) -> ()
      $c("cuGraphReleaseUserObject") $class(sync) $does([ends]) $since(11030);
  graphRemoveDependencies @214 (graph :UInt64 $handle, from :List(UInt64) $handle $count("dependencyCount") $nullable, to
      :List(UInt64) $handle $count("dependencyCount") $nullable) -> ()
      $c("cuGraphRemoveDependencies") $class(sync) $does([plain]) $since(10000);
  graphRemoveDependenciesV2 @215 (graph :UInt64 $handle, from :List(UInt64) $handle $count("dependencyCount") $nullable, to
      :List(UInt64) $handle $count("dependencyCount") $nullable, edges :List(GraphEdgeData) $count("dependencyCount") $nullable)
      -> ()
      $c("cuGraphRemoveDependencies_v2") $class(sync) $does([plain]) $since(12030);
  graphRetainUserObject @216 (graph :UInt64 $handle, object :UInt64 $handle, count :UInt32, flags :UInt32) -> ()
      $c("cuGraphRetainUserObject") $class(sync) $does([plain]) $since(11030);
  graphUpload @217 (graph :UInt64 $handle, stream :UInt64 $handle) -> ()
      $c("cuGraphUpload") $class(async) $does([takes, occupies]) $since(11010) $ptsz(11010);
  graphicsMapResources @218 () -> () $c("cuGraphicsMapResources") $class(refused) $reason(.graphics) $since(3000) $ptsz(7000);
  graphicsResourceGetMappedMipmappedArray @219 () -> ()
      $c("cuGraphicsResourceGetMappedMipmappedArray") $class(refused) $reason(.graphics) $since(5000);
  graphicsResourceGetMappedPointer @220 () -> ()
      $c("cuGraphicsResourceGetMappedPointer") $class(refused) $reason(.graphics) $since(3000);
  graphicsResourceGetMappedPointerV2 @221 () -> ()
      $c("cuGraphicsResourceGetMappedPointer_v2") $class(refused) $reason(.graphics) $since(3020);
  graphicsResourceSetMapFlags @222 () -> () $c("cuGraphicsResourceSetMapFlags") $class(refused) $reason(.graphics) $since(3000);
  graphicsResourceSetMapFlagsV2 @223 () -> ()
      $c("cuGraphicsResourceSetMapFlags_v2") $class(refused) $reason(.graphics) $since(6050);
  graphicsSubResourceGetMappedArray @224 () -> ()
      $c("cuGraphicsSubResourceGetMappedArray") $class(refused) $reason(.graphics) $since(3000);
  graphicsUnmapResources @225 () -> ()
      $c("cuGraphicsUnmapResources") $class(refused) $reason(.graphics) $since(3000) $ptsz(7000);
  graphicsUnregisterResource @226 () -> () $c("cuGraphicsUnregisterResource") $class(refused) $reason(.graphics) $since(3000);
  greenCtxCreate @227 (descriptor :UInt64 $handle, device :Int32 $handle, flags :UInt32) -> (context :UInt64 $handle)
      $c("cuGreenCtxCreate") $class(custom) $byHand(client) $does([makes, takes]) $since(12040);
  greenCtxDestroy @228 (context :UInt64 $handle) -> ()
      $c("cuGreenCtxDestroy") $class(sync) $forgets("*") $does([ends, dropsStock, mayWait, gives]) $since(12040);
  greenCtxGetDevResource @229 (context :UInt64 $handle, type :UInt32) -> (resource :Data $bytesOf("sizeof(CUdevResource)"))
      $c("cuGreenCtxGetDevResource") $class(sync) $does([plain]) $since(12040);
  greenCtxGetId @230 (greenContext :UInt64 $handle) -> (id :UInt64)
      $c("cuGreenCtxGetId") $class(cached) $does([plain]) $since(12090);
  greenCtxRecordEvent @231 (context :UInt64 $handle, event :UInt64 $handle) -> ()
      $c("cuGreenCtxRecordEvent") $class(async) $does([plain]) $since(12040);
  greenCtxStreamCreate @232 (greenContext :UInt64 $handle, flags :UInt32, priority :Int32) -> (stream :UInt64 $handle)
      $c("cuGreenCtxStreamCreate") $class(sync) $does([makes, inGreen]) $since(12050);
  greenCtxWaitEvent @233 (context :UInt64 $handle, event :UInt64 $handle) -> ()
      $c("cuGreenCtxWaitEvent") $class(async) $does([plain]) $since(12040);
  importExternalMemory @234 () -> () $c("cuImportExternalMemory") $class(refused) $reason(.external) $since(10000);
  importExternalSemaphore @235 () -> () $c("cuImportExternalSemaphore") $class(refused) $reason(.external) $since(10000);
  init @236 (flags :UInt32) -> () $c("cuInit") $class(custom) $byHand(client) $does([early]) $bySwitch $since(2000);
  ipcCloseMemHandle @237 (address :UInt64 $deviceptr) -> ()
      $c("cuIpcCloseMemHandle") $class(sync) $forgets("pointerGetAttribute pointerGetAttributes") $does([ends, mayWait, gives])
      $unplaced("address") $since(4010);
  ipcGetEventHandle @238 (event :UInt64 $handle) -> (handle :Data $bytesOf("sizeof(CUipcEventHandle)"))
      $c("cuIpcGetEventHandle") $class(sync) $does([shares]) $since(4010);
  ipcGetMemHandle @239 (address :UInt64 $deviceptr) -> (handle :Data $bytesOf("sizeof(CUipcMemHandle)"))
      $c("cuIpcGetMemHandle") $class(sync) $does([counts, exports]) $since(4010);
  ipcOpenEventHandle @240 (handle :Data $bytesOf("sizeof(CUipcEventHandle)")) -> (event :UInt64 $handle)
      $c("cuIpcOpenEventHandle") $class(sync) $does([makes, shares]) $since(4010);
  ipcOpenMemHandle @241 (handle :Data $bytesOf("sizeof(CUipcMemHandle)"), flags :UInt32) -> (address :UInt64 $deviceptr)
      $c("cuIpcOpenMemHandle") $class(sync) $does([makes, takes, exports]) $placed("*address; 0") $since(4010);
  ipcOpenMemHandleV2 @242 (handle :Data $bytesOf("sizeof(CUipcMemHandle)"), flags :UInt32) -> (address :UInt64 $deviceptr)
      $c("cuIpcOpenMemHandle_v2") $class(sync) $does([makes, takes, exports]) $placed("*address; 0") $since(11000);
  kernelGetAttribute @243 (attribute :UInt32, kernel :UInt64 $handle, device :Int32 $handle) -> (value :Int32)
      $c("cuKernelGetAttribute") $class(custom) $byHand(client) $isCached $does([ofSettings, ofCode, refusalIsAnswer, noWork]) $since(12000);
  kernelGetFunction @244 (kernel :UInt64 $handle) -> (function :UInt64 $handle)
      $c("cuKernelGetFunction") $class(custom) $byHand(client) $isCached $does([gets, namesKernel, noWork, takes]) $since(12000);
  kernelGetLibrary @245 (kernel :UInt64 $handle) -> (library :UInt64 $handle)
      $c("cuKernelGetLibrary") $class(cached) $does([gets]) $bySwitch $since(12050);
  kernelGetName @246 (function :UInt64 $handle) -> (name :Text $kept(""))
      $c("cuKernelGetName") $class(cached) $does([plain]) $since(12030);
  kernelGetParamInfo @247 (kernel :UInt64 $handle, paramIndex :UInt64) -> (paramOffset :UInt64, paramSize :UInt64 $nullable)
      $c("cuKernelGetParamInfo") $class(cached) $does([ofCode]) $since(12040);
  kernelSetAttribute @248 (attribute :UInt32, value :Int32, kernel :UInt64 $handle, device :Int32 $handle) -> ()
      $c("cuKernelSetAttribute") $class(custom) $byHand(client) $does([plain]) $since(12000);
  kernelSetCacheConfig @249 (kernel :UInt64 $handle, config :UInt32, device :Int32 $handle) -> ()
      $c("cuKernelSetCacheConfig") $class(sync) $forgets("ofSettings") $does([plain]) $since(12000);
  launch @250 (function :UInt64 $handle) -> () $c("cuLaunch") $class(sync) $does([inContext, launches, touches, occupies]) $since(2000);
  launchCooperativeKernel @251 () -> ()
      $c("cuLaunchCooperativeKernel") $class(local) $does([inContext, launches, touches, occupies]) $since(9000) $ptsz(9000);
  launchCooperativeKernelMultiDevice @252 (launches :List(DeviceLaunch), flags :UInt32) -> ()
      $c("cuLaunchCooperativeKernelMultiDevice") $class(custom) $byHand(both) $does([launches, touches, occupies]) $bySwitch $since(9000);
  launchGrid @253 (function :UInt64 $handle, gridWidth :Int32, gridHeight :Int32) -> ()
      $c("cuLaunchGrid") $class(sync) $does([inContext, launches, touches, occupies]) $since(2000);
  launchGridAsync @254 (function :UInt64 $handle, gridWidth :Int32, gridHeight :Int32, stream :UInt64 $handle) -> ()
      $c("cuLaunchGridAsync") $class(sync) $does([inContext, launches, touches, occupies]) $since(2000);
  launchHostFunc @255 (stream :UInt64 $handle, callback :UInt64) -> ()
      $c("cuLaunchHostFunc") $class(custom) $byHand(both) $does([touches, awaitsOthers]) $since(10000) $ptsz(10000);
  launchKernel @256 (function :UInt64 $handle, gridDimX :UInt32, gridDimY :UInt32, gridDimZ :UInt32, blockDimX :UInt32, blockDimY
      :UInt32, blockDimZ :UInt32, sharedMemBytes :UInt32, stream :UInt64 $handle, parameters :Data) -> ()
      $c("cuLaunchKernel") $class(custom) $byHand(both) $does([inContext, launches, touches, occupies]) $since(4000) $ptsz(7000);
  launchKernelEx @257 (config :LaunchConfig, function :UInt64 $handle, parameters :Data) -> ()
      $c("cuLaunchKernelEx") $class(custom) $byHand(both) $does([inContext, launches, touches, occupies]) $since(11060) $ptsz(11060);
  libraryEnumerateKernels @258 (kernelCount :UInt32, library :UInt64 $handle) -> (kernels :List(UInt64) $handle
      $count("kernelCount"))
      $c("cuLibraryEnumerateKernels") $class(sync) $does([gets, takes]) $bySwitch $since(12040);
  libraryGetGlobal @259 (library :UInt64 $handle, name :Text) -> (address :UInt64 $deviceptr $nullable, bytes :UInt64 $nullable)
      $c("cuLibraryGetGlobal") $class(cached) $does([gets, takes]) $placed("address ? *address : 0; bytes ? *bytes : 0") $since(12000);
  libraryGetKernel @260 (library :UInt64 $handle, name :Text, promised :UInt64) -> (kernel :UInt64 $handle, layout :Layout,
      function :UInt64, facts :List(KernelFact))
      $c("cuLibraryGetKernel") $class(custom) $byHand(both) $does([gets, ofCode, noWork, takes]) $bySwitch $since(12000);
  libraryGetKernelCount @261 (library :UInt64 $handle) -> (count :UInt32)
      $c("cuLibraryGetKernelCount") $class(cached) $does([plain]) $since(12040);
  libraryGetManaged @262 (library :UInt64 $handle, name :Text) -> (address :UInt64 $deviceptr, bytes :UInt64)
      $c("cuLibraryGetManaged") $class(custom) $byHand(both) $does([gets]) $placed("address ? *address : 0; bytes ? *bytes : 0")
      $since(12000);
  libraryGetModule @263 (library :UInt64 $handle) -> (module :UInt64 $handle)
      $c("cuLibraryGetModule") $class(sync) $does([gets, takes]) $since(12000);
  libraryGetUnifiedFunction @264 () -> ()
      $c("cuLibraryGetUnifiedFunction") $class(refused) $reason(.unifiedFunctions) $since(12000);
  libraryLoadData @265 (images :List(Image), jitOptions :List(JitOption), libraryOptions :List(JitOption), promised :UInt64) ->
      (library :UInt64 $handle, results :List(JitOption))
      $c("cuLibraryLoadData") $class(custom) $byHand(both) $does([makes, ofCode, mayWait, takes]) $bySwitch $since(12000);
  libraryLoadFromFile @266 () -> () $c("cuLibraryLoadFromFile") $class(local) $does([makes, takes]) $bySwitch $since(12000);
  libraryUnload @267 (library :UInt64 $handle) -> ()
      $c("cuLibraryUnload") $class(custom) $byHand(both) $forgets("*") $does([ends, mayWait, synchronizes, gives]) $bySwitch
      $since(12000);
  linkAddData @268 () -> () $c("cuLinkAddData") $class(local) $does([plain]) $since(5050);
  linkAddDataV2 @269 (state :UInt64 $handle, type :UInt32, data :Image, name :Text, options :List(JitOption)) -> (results
      :List(JitOption), stateResults :List(JitOption))
      $c("cuLinkAddData_v2") $class(custom) $byHand(both) $does([mayWait]) $since(6050);
  linkAddFile @270 () -> () $c("cuLinkAddFile") $class(local) $does([plain]) $since(5050);
  linkAddFileV2 @271 () -> () $c("cuLinkAddFile_v2") $class(local) $does([plain]) $since(6050);
  linkComplete @272 (state :UInt64 $handle) -> (cubin :Data, stateResults :List(JitOption))
      $c("cuLinkComplete") $class(custom) $byHand(both) $does([mayWait]) $since(5050);
  linkCreate @273 () -> () $c("cuLinkCreate") $class(local) $does([makes]) $since(5050);
  linkCreateV2 @274 (options :List(JitOption)) -> (state :UInt64 $handle, stateResults :List(JitOption))
      $c("cuLinkCreate_v2") $class(custom) $byHand(both) $does([makes]) $since(6050);
  linkDestroy @275 (state :UInt64 $handle) -> () $c("cuLinkDestroy") $class(custom) $byHand(both) $does([ends]) $since(5050);
  logsCurrent @276 (flags :UInt32) -> (iterator :UInt32) $c("cuLogsCurrent") $class(sync) $does([plain]) $since(12090);
  logsDumpToFile @277 () -> () $c("cuLogsDumpToFile") $class(local) $does([plain]) $since(12090);
  logsDumpToMemory @278 (iterator :UInt32, wantsIterator :Bool $wants("iterator"), size :UInt64, flags :UInt32) -> (iterator
      :UInt32, buffer :Data $bytesOf("*size"), size :UInt64)
      $c("cuLogsDumpToMemory") $class(sync) $does([plain]) $since(12090);
  logsRegisterCallback @279 () -> () $c("cuLogsRegisterCallback") $class(refused) $reason(.logCallbacks) $since(12090);
  logsUnregisterCallback @280 () -> () $c("cuLogsUnregisterCallback") $class(refused) $reason(.logCallbacks) $since(12090);
  memAddressFree @281 (address :UInt64 $deviceptr, size :UInt64) -> ()
      $c("cuMemAddressFree") $class(sync) $forgets("pointerGetAttribute pointerGetAttributes") $does([ends]) $unplaced("address")
      $since(10020);
  memAddressReserve @282 (size :UInt64, alignment :UInt64, wanted :UInt64 $deviceptr, flags :UInt64) -> (address :UInt64
      $deviceptr)
      $c("cuMemAddressReserve") $class(sync) $does([makes, uncounted]) $placed("*address; size; cuMemAddressFree(%s, size)")
      $since(10020);
  memAdvise @283 (address :UInt64 $deviceptr, count :UInt64, advice :UInt32, device :Int32 $handle) -> ()
      $c("cuMemAdvise") $class(sync) $does([plain]) $since(8000);
  memAdviseV2 @284 (address :UInt64 $deviceptr, count :UInt64, advice :UInt32, location :MemLocation) -> ()
      $c("cuMemAdvise_v2") $class(sync) $does([plain]) $since(12020);
  memAlloc @285 (bytes :UInt32) -> (address :UInt32 $deviceptr)
      $c("cuMemAlloc") $class(sync) $does([makes, mayWait, takes, barred]) $since(2000);
  memAllocAsync @286 (bytes :UInt64, stream :UInt64 $handle) -> (address :UInt64 $deviceptr)
      $c("cuMemAllocAsync") $class(sync) $byHand(client) $does([makes, mayWait, takes, reuses])
      $placed("*address; bytes; cuMemFreeAsync(%s, stream); cuMemAllocAsync(%s, stream)") $since(11020) $ptsz(11020);
  memAllocFromPoolAsync @287 (bytes :UInt64, pool :UInt64 $handle, stream :UInt64 $handle) -> (address :UInt64 $deviceptr)
      $c("cuMemAllocFromPoolAsync") $class(sync) $byHand(client) $does([makes, mayWait, takes, reuses])
      $placed("*address; bytes; cuMemFreeAsync(%s, stream); cuMemAllocFromPoolAsync(%s, pool, stream)") $since(11020)
      $ptsz(11020);
  memAllocHost @288 () -> () $c("cuMemAllocHost") $class(refused) $reason(.narrow) $since(2000);
  memAllocHostV2 @289 () -> () $c("cuMemAllocHost_v2") $class(local) $does([makes]) $pinned("*memory") $since(3020);
  memAllocManaged @290 (bytes :UInt64, flags :UInt32) -> (address :UInt64 $deviceptr)
      $c("cuMemAllocManaged") $class(custom) $byHand(both) $does([makes, mayWait, takes])
      $placed("*address; bytes; cuMemFree_v2(%s); cuMemAllocManaged(%s, flags)") $since(6000);
  memAllocPitch @291 (widthInBytes :UInt32, height :UInt32, elementSizeBytes :UInt32) -> (address :UInt32 $deviceptr, pitch
      :UInt32)
      $c("cuMemAllocPitch") $class(sync) $does([makes, mayWait, takes, barred]) $since(2000);
  memAllocPitchV2 @292 (widthInBytes :UInt64, height :UInt64, elementSizeBytes :UInt32) -> (address :UInt64 $deviceptr, pitch
      :UInt64)
      $c("cuMemAllocPitch_v2") $class(sync) $does([makes, mayWait, takes])
      $placed("*address; *pitch * height; cuMemFree_v2(%s); cuMemAlloc_v2(%s)") $since(3020);
  memAllocV2 @293 (bytes :UInt64) -> (address :UInt64 $deviceptr)
      $c("cuMemAlloc_v2") $class(sync) $byHand(client) $does([makes, mayWait, takes, noWork])
      $placed("*address; bytes; cuMemFree_v2(%s); cuMemAlloc_v2(%s)") $since(3020);
  memBatchDecompressAsync @294 (params :List(MemDecompressParams) $count("count"), flags :UInt32, stream :UInt64 $handle) ->
      (errorIndex :UInt64 $nullable)
      $c("cuMemBatchDecompressAsync") $class(sync) $evenFailed $does([touches, occupies]) $since(12060) $ptsz(12060);
  memCreate @295 (size :UInt64, properties :MemAllocationProp, flags :UInt64) -> (handle :UInt64 $handle)
      $c("cuMemCreate") $class(custom) $byHand(client) $does([makes, mayWait, takes]) $since(10020);
  memDiscardAndPrefetchBatchAsync @296 (addresses :List(UInt64) $deviceptr $count("count"), sizes :List(UInt64) $count("count"),
      locations :List(MemLocation) $count("locationCount"), locationIndexes :List(UInt64) $count("locationCount"), flags :UInt64,
      stream :UInt64 $handle) -> ()
      $c("cuMemDiscardAndPrefetchBatchAsync") $class(sync) $does([touches, occupies]) $since(13000) $ptsz(13000);
  memDiscardBatchAsync @297 (addresses :List(UInt64) $deviceptr $count("count"), sizes :List(UInt64) $count("count"), flags
      :UInt64, stream :UInt64 $handle) -> ()
      $c("cuMemDiscardBatchAsync") $class(sync) $does([touches, noTurn]) $since(13000) $ptsz(13000);
  memExportToShareableHandle @298 (handle :UInt64 $handle, type :UInt32, flags :UInt64) -> (token :Data)
      $c("cuMemExportToShareableHandle") $class(custom) $byHand(both) $does([exports]) $since(10020);
  memFree @299 (address :UInt32 $deviceptr) -> ()
      $c("cuMemFree") $class(sync) $forgets("pointerGetAttribute pointerGetAttributes")
      $does([ends, mayWait, synchronizes, gives, barred]) $since(2000);
  memFreeAsync @300 (address :UInt64 $deviceptr, stream :UInt64 $handle) -> ()
      $c("cuMemFreeAsync") $class(async) $byHand(client) $forgets("pointerGetAttribute pointerGetAttributes")
      $does([ends, gives, reuses]) $unplaced("address") $since(11020) $ptsz(11020);
  memFreeHost @301 () -> () $c("cuMemFreeHost") $class(local) $does([ends]) $unplaced("(uintptr_t)memory") $since(2000);
  memFreeV2 @302 (address :UInt64 $deviceptr) -> ()
      $c("cuMemFree_v2") $class(custom) $byHand(both) $forgets("pointerGetAttribute pointerGetAttributes")
      $does([ends, mayWait, synchronizes, gives]) $unplaced("address")
      $since(3020);
  memGetAccess @303 (location :MemLocation, address :UInt64 $deviceptr) -> (flags :UInt64)
      $c("cuMemGetAccess") $class(sync) $does([plain]) $since(10020);
  memGetAddressRange @304 (address :UInt32 $deviceptr) -> (base :UInt32 $deviceptr $nullable, size :UInt32 $nullable)
      $c("cuMemGetAddressRange") $class(sync) $does([gets]) $since(2000);
  memGetAddressRangeV2 @305 (address :UInt64 $deviceptr) -> (base :UInt64 $deviceptr $nullable, size :UInt64 $nullable)
      $c("cuMemGetAddressRange_v2") $class(sync) $does([gets]) $since(3020);
  memGetAllocationGranularity @306 (properties :MemAllocationProp, option :UInt32) -> (granularity :UInt64)
      $c("cuMemGetAllocationGranularity") $class(cached) $does([plain]) $since(10020);
  memGetAllocationPropertiesFromHandle @307 (handle :UInt64 $handle) -> (properties :MemAllocationProp)
      $c("cuMemGetAllocationPropertiesFromHandle") $class(sync) $does([plain]) $since(10020);
  memGetDefaultMemPool @308 (location :MemLocation, type :UInt32) -> (pool :UInt64 $handle)
      $c("cuMemGetDefaultMemPool") $class(custom) $byHand(client) $does([gets]) $since(13000);
  memGetHandleForAddressRange @309 () -> () $c("cuMemGetHandleForAddressRange") $class(refused) $reason(.dmaBuf) $since(11070);
  memGetInfo @310 () -> (freeBytes :UInt32 $nullable, totalBytes :UInt32 $nullable)
      $c("cuMemGetInfo") $class(sync) $does([counts, barred]) $since(2000);
  memGetInfoV2 @311 () -> (freeBytes :UInt64 $nullable, totalBytes :UInt64 $nullable)
      $c("cuMemGetInfo_v2") $class(sync) $does([counts, noWork]) $since(3020);
  memGetMemPool @312 (location :MemLocation, type :UInt32) -> (pool :UInt64 $handle)
      $c("cuMemGetMemPool") $class(custom) $byHand(client) $does([gets]) $since(13000);
  memHostAlloc @313 (bytes :UInt64, flags :UInt32, shared :UInt64) -> (address :UInt64 $deviceptr)
      $c("cuMemHostAlloc") $class(custom) $byHand(both) $does([makes, uncounted]) $pinned("*memory") $since(2020);
  memHostGetDevicePointer @314 () -> () $c("cuMemHostGetDevicePointer") $class(refused) $reason(.narrow) $since(2020);
  memHostGetDevicePointerV2 @315 () -> () $c("cuMemHostGetDevicePointer_v2") $class(local) $does([plain]) $since(3020);
  memHostGetFlags @316 () -> () $c("cuMemHostGetFlags") $class(local) $does([plain]) $since(2030);
  memHostRegister @317 () -> () $c("cuMemHostRegister") $class(local) $does([plain]) $pinned("memory") $since(4000);
  memHostRegisterV2 @318 (memory :UInt64, bytes :UInt64, flags :UInt32, shared :UInt64) -> (address :UInt64 $deviceptr)
      $c("cuMemHostRegister_v2") $class(custom) $byHand(both) $does([gets]) $pinned("memory") $since(6050);
  memHostUnregister @319 (memory :UInt64) -> ()
      $c("cuMemHostUnregister") $class(custom) $byHand(both) $forgets("pointerGetAttribute pointerGetAttributes") $does([ends])
      $unplaced("(uintptr_t)memory") $since(4000);
  memImportFromShareableHandle @320 (token :Data, type :UInt32) -> (handle :UInt64 $handle)
      $c("cuMemImportFromShareableHandle") $class(custom) $byHand(both) $does([makes, uncounted, exports]) $since(10020);
  memMap @321 (address :UInt64 $deviceptr, size :UInt64, offset :UInt64, handle :UInt64 $handle, flags :UInt64) -> ()
      $c("cuMemMap") $class(sync) $forgets("pointerGetAttribute pointerGetAttributes") $does([takes]) $since(10020);
  memMapArrayAsync @322 (mapInfoList :List(ArrayMapInfo) $count("count"), stream :UInt64 $handle) -> ()
      $c("cuMemMapArrayAsync") $class(sync) $does([noTurn]) $since(11010) $ptsz(11010);
  memPoolCreate @323 (properties :MemPoolProps) -> (pool :UInt64 $handle)
      $c("cuMemPoolCreate") $class(custom) $byHand(client) $does([makes, counts]) $since(11020);
  memPoolDestroy @324 (pool :UInt64 $handle) -> ()
      $c("cuMemPoolDestroy") $class(custom) $byHand(client) $forgets("pointerGetAttribute pointerGetAttributes")
      $does([ends, mayWait, gives, changesPools]) $since(11020);
  memPoolExportPointer @325 (address :UInt64 $deviceptr) -> (share :Data $bytesOf("sizeof(CUmemPoolPtrExportData)"))
      $c("cuMemPoolExportPointer") $class(sync) $does([exports]) $since(11020);
  memPoolExportToShareableHandle @326 (pool :UInt64 $handle, type :UInt32, flags :UInt64) -> (token :Data)
      $c("cuMemPoolExportToShareableHandle") $class(custom) $byHand(both) $does([exports]) $since(11020);
  memPoolGetAccess @327 (memPool :UInt64 $handle, location :MemLocation) -> (flags :UInt32)
      $c("cuMemPoolGetAccess") $class(sync) $does([plain]) $since(11020);
  memPoolGetAttribute @328 (pool :UInt64 $handle, attribute :UInt32) -> (value :Data
      $bytesOf("ath_cuda_bytes_of_pool_attribute(attribute)"))
      $c("cuMemPoolGetAttribute") $class(sync) $does([plain]) $since(11020);
  memPoolImportFromShareableHandle @329 (token :Data, type :UInt32, flags :UInt64) -> (pool :UInt64 $handle)
      $c("cuMemPoolImportFromShareableHandle") $class(custom) $byHand(both) $does([makes, exports]) $since(11020);
  memPoolImportPointer @330 (pool :UInt64 $handle, share :Data $bytesOf("sizeof(CUmemPoolPtrExportData)")) -> (address :UInt64
      $deviceptr)
      $c("cuMemPoolImportPointer") $class(sync) $does([makes, uncounted, exports]) $placed("*address; 0") $since(11020);
  memPoolSetAccess @331 (pool :UInt64 $handle, map :List(MemAccessDesc) $count("count")) -> ()
      $c("cuMemPoolSetAccess") $class(sync) $forgets("pointerGetAttribute pointerGetAttributes") $does([plain]) $since(11020);
  memPoolSetAttribute @332 (pool :UInt64 $handle, attribute :UInt32, value :Data
      $bytesOf("ath_cuda_bytes_of_pool_attribute(attribute)")) -> ()
      $c("cuMemPoolSetAttribute") $class(sync) $does([plain]) $since(11020);
  memPoolTrimTo @333 (pool :UInt64 $handle, minBytesToKeep :UInt64) -> ()
      $c("cuMemPoolTrimTo") $class(sync) $forgets("pointerGetAttribute pointerGetAttributes") $does([mayWait, gives])
      $since(11020);
  memPrefetchAsync @334 (address :UInt64 $deviceptr, count :UInt64, dstDevice :Int32 $handle, stream :UInt64 $handle) -> ()
      $c("cuMemPrefetchAsync") $class(sync) $does([touches, occupies]) $since(8000) $ptsz(8000);
  memPrefetchAsyncV2 @335 (address :UInt64 $deviceptr, count :UInt64, location :MemLocation, flags :UInt32, stream :UInt64
      $handle) -> ()
      $c("cuMemPrefetchAsync_v2") $class(sync) $does([touches, occupies]) $since(12020) $ptsz(12020);
  memPrefetchBatchAsync @336 (addresses :List(UInt64) $deviceptr $count("count"), sizes :List(UInt64) $count("count"), locations
      :List(MemLocation) $count("locationCount"), locationIndexes :List(UInt64) $count("locationCount"), flags :UInt64, stream
      :UInt64 $handle) -> ()
      $c("cuMemPrefetchBatchAsync") $class(sync) $does([touches, occupies]) $since(13000) $ptsz(13000);
  memRangeGetAttribute @337 (dataSize :UInt64, attribute :UInt32, address :UInt64 $deviceptr, count :UInt64) -> (data :Data
      $bytesOf("data_size"))
      $c("cuMemRangeGetAttribute") $class(sync) $does([plain]) $bySwitch $since(8000);
  memRangeGetAttributes @338 (attributes :List(UInt32), sizes :List(UInt64), address :UInt64 $deviceptr, count :UInt64) -> (values
      :List(Data))
      $c("cuMemRangeGetAttributes") $class(custom) $byHand(both) $does([plain]) $bySwitch $since(8000);
  memRelease @339 (handle :UInt64 $handle) -> ()
      $c("cuMemRelease") $class(custom) $byHand(client) $forgets("pointerGetAttribute pointerGetAttributes")
      $does([ends, mayWait, gives]) $since(10020);
  memRetainAllocationHandle @340 (address :UInt64 $deviceptr) -> (handle :UInt64 $handle)
      $c("cuMemRetainAllocationHandle") $class(sync) $does([makes, takes]) $since(11000);
  memSetAccess @341 (address :UInt64 $deviceptr, size :UInt64, descriptor :List(MemAccessDesc) $count("count")) -> ()
      $c("cuMemSetAccess") $class(sync) $forgets("pointerGetAttribute pointerGetAttributes") $does([plain]) $since(10020);
  memSetMemPool @342 (location :MemLocation, type :UInt32, pool :UInt64 $handle) -> ()
      $c("cuMemSetMemPool") $class(sync) $does([changesPools]) $since(13000);
  memUnmap @343 (address :UInt64 $deviceptr, size :UInt64) -> ()
      $c("cuMemUnmap") $class(sync) $forgets("pointerGetAttribute pointerGetAttributes") $does([ends, mayWait, gives])
      $since(10020);
  memcpy @344 () -> ()
      $c("cuMemcpy") $class(local) $does([mayWait, touches, occupies]) $bySwitch $since(4000) $ptds(7000) $onStream("cuMemcpyAsync");
  memcpy2D @345 () -> () $c("cuMemcpy2D") $class(refused) $reason(.narrow) $since(2000);
  memcpy2DAsync @346 () -> () $c("cuMemcpy2DAsync") $class(refused) $reason(.narrow) $since(2000);
  memcpy2DAsyncV2 @347 (copy :Memcpy2d, stream :UInt64 $handle) -> ()
      $c("cuMemcpy2DAsync_v2") $class(custom) $byHand(client) $does([mayWait, touches, occupies]) $bySwitch $since(3020) $ptsz(7000);
  memcpy2DUnaligned @348 () -> () $c("cuMemcpy2DUnaligned") $class(refused) $reason(.narrow) $since(2000);
  memcpy2DUnalignedV2 @349 (copy :Memcpy2d) -> ()
      $c("cuMemcpy2DUnaligned_v2") $class(custom) $byHand(client) $does([mayWait, touches, occupies]) $bySwitch $since(3020) $ptds(7000)
      $onStream("cuMemcpy2DAsync_v2");
  memcpy2DV2 @350 (copy :Memcpy2d) -> ()
      $c("cuMemcpy2D_v2") $class(custom) $byHand(client) $does([mayWait, touches, occupies]) $bySwitch $since(3020) $ptds(7000)
      $onStream("cuMemcpy2DAsync_v2");
  memcpy3D @351 () -> () $c("cuMemcpy3D") $class(refused) $reason(.narrow) $since(2000);
  memcpy3DAsync @352 () -> () $c("cuMemcpy3DAsync") $class(refused) $reason(.narrow) $since(2000);
  memcpy3DAsyncV2 @353 (copy :Memcpy3d, stream :UInt64 $handle) -> ()
      $c("cuMemcpy3DAsync_v2") $class(custom) $byHand(client) $does([mayWait, touches, occupies]) $bySwitch $since(3020) $ptsz(7000);
  memcpy3DBatchAsync @354 () -> ()
      $c("cuMemcpy3DBatchAsync") $class(local) $does([mayWait, touches, occupies]) $since(12080) $ptsz(12080);
  memcpy3DBatchAsyncV2 @355 () -> ()
      $c("cuMemcpy3DBatchAsync_v2") $class(local) $does([mayWait, touches, occupies]) $since(13000) $ptsz(13000);
  memcpy3DPeer @356 (copy :Memcpy3dPeer) -> ()
      $c("cuMemcpy3DPeer") $class(custom) $byHand(client) $does([mayWait, touches, occupies]) $bySwitch $since(4000) $ptds(7000)
      $onStream("cuMemcpy3DPeerAsync");
  memcpy3DPeerAsync @357 (copy :Memcpy3dPeer, stream :UInt64 $handle) -> ()
      $c("cuMemcpy3DPeerAsync") $class(custom) $byHand(client) $does([mayWait, touches, occupies]) $bySwitch $since(4000) $ptsz(7000);
  memcpy3DV2 @358 (copy :Memcpy3d) -> ()
      $c("cuMemcpy3D_v2") $class(custom) $byHand(client) $does([mayWait, touches, occupies]) $bySwitch $since(3020) $ptds(7000)
      $onStream("cuMemcpy3DAsync_v2");
  memcpyAsync @359 (dst :UInt64 $deviceptr, src :UInt64 $deviceptr, byteCount :UInt64, stream :UInt64 $handle) -> ()
      $c("cuMemcpyAsync") $class(custom) $byHand(both) $does([mayWait, touches, occupies]) $bySwitch $since(4000) $ptsz(7000);
  memcpyAtoA @360 (dstArray :UInt64 $handle, dstOffset :UInt32, srcArray :UInt64 $handle, srcOffset :UInt32, byteCount :UInt32) ->
      ()
      $c("cuMemcpyAtoA") $class(sync) $does([mayWait, touches, occupies]) $since(2000);
  memcpyAtoAV2 @361 (dstArray :UInt64 $handle, dstOffset :UInt64, srcArray :UInt64 $handle, srcOffset :UInt64, byteCount :UInt64)
      -> ()
      $c("cuMemcpyAtoA_v2") $class(sync) $does([mayWait, touches, occupies]) $since(3020) $ptds(7000);
  memcpyAtoD @362 (dstDevice :UInt32 $deviceptr, srcArray :UInt64 $handle, srcOffset :UInt32, byteCount :UInt32) -> ()
      $c("cuMemcpyAtoD") $class(sync) $does([mayWait, touches, occupies]) $since(2000);
  memcpyAtoDV2 @363 (dstDevice :UInt64 $deviceptr, srcArray :UInt64 $handle, srcOffset :UInt64, byteCount :UInt64) -> ()
      $c("cuMemcpyAtoD_v2") $class(sync) $does([mayWait, touches, occupies]) $since(3020) $ptds(7000);
  memcpyAtoH @364 () -> () $c("cuMemcpyAtoH") $class(refused) $reason(.narrow) $since(2000);
  memcpyAtoHAsync @365 () -> () $c("cuMemcpyAtoHAsync") $class(refused) $reason(.narrow) $since(2000);
  memcpyAtoHAsyncV2 @366 (srcArray :UInt64 $handle, srcOffset :UInt64, byteCount :UInt64, stream :UInt64 $handle) -> (data :Data)
      $c("cuMemcpyAtoHAsync_v2") $class(custom) $byHand(both) $does([waits, mayWait, synchronizes, touches, occupies]) $since(3020)
      $ptsz(7000);
  memcpyAtoHV2 @367 () -> ()
      $c("cuMemcpyAtoH_v2") $class(local) $does([mayWait, touches, occupies]) $since(3020) $ptds(7000) $onStream("cuMemcpyAtoHAsync_v2");
  memcpyBatchAsync @368 () -> ()
      $c("cuMemcpyBatchAsync") $class(local) $does([mayWait, touches, occupies]) $bySwitch $since(12080) $ptsz(12080);
  memcpyBatchAsyncV2 @369 () -> ()
      $c("cuMemcpyBatchAsync_v2") $class(local) $does([mayWait, touches, occupies]) $bySwitch $since(13000) $ptsz(13000);
  memcpyDtoA @370 (dstArray :UInt64 $handle, dstOffset :UInt32, srcDevice :UInt32 $deviceptr, byteCount :UInt32) -> ()
      $c("cuMemcpyDtoA") $class(sync) $does([mayWait, touches, occupies]) $since(2000);
  memcpyDtoAV2 @371 (dstArray :UInt64 $handle, dstOffset :UInt64, srcDevice :UInt64 $deviceptr, byteCount :UInt64) -> ()
      $c("cuMemcpyDtoA_v2") $class(sync) $does([mayWait, touches, occupies]) $since(3020) $ptds(7000);
  memcpyDtoD @372 (dstDevice :UInt32 $deviceptr, srcDevice :UInt32 $deviceptr, byteCount :UInt32) -> ()
      $c("cuMemcpyDtoD") $class(sync) $does([mayWait, touches, occupies]) $since(2000);
  memcpyDtoDAsync @373 (dstDevice :UInt32 $deviceptr, srcDevice :UInt32 $deviceptr, byteCount :UInt32, stream :UInt64 $handle) ->
      ()
      $c("cuMemcpyDtoDAsync") $class(sync) $does([mayWait, touches, occupies]) $since(3000);
  memcpyDtoDAsyncV2 @374 (dstDevice :UInt64 $deviceptr, srcDevice :UInt64 $deviceptr, byteCount :UInt64, stream :UInt64 $handle)
      -> ()
      $c("cuMemcpyDtoDAsync_v2") $class(async) $does([mayWait, touches, maps, occupies]) $bySwitch $since(3020) $ptsz(7000);
  memcpyDtoDV2 @375 (dstDevice :UInt64 $deviceptr, srcDevice :UInt64 $deviceptr, byteCount :UInt64) -> ()
      $c("cuMemcpyDtoD_v2") $class(sync) $does([mayWait, touches, maps, occupies]) $bySwitch $since(3020) $ptds(7000)
      $onStream("cuMemcpyDtoDAsync_v2");
  memcpyDtoH @376 () -> () $c("cuMemcpyDtoH") $class(refused) $reason(.narrow) $since(2000);
  memcpyDtoHAsync @377 () -> () $c("cuMemcpyDtoHAsync") $class(refused) $reason(.narrow) $since(2000);
  memcpyDtoHAsyncV2 @378 (srcDevice :UInt64 $deviceptr, byteCount :UInt64, stream :UInt64 $handle, host :UInt64, deferred
      :UInt64) -> (data :Data)
      $c("cuMemcpyDtoHAsync_v2") $class(custom) $byHand(both) $does([waits, mayWait, synchronizes, touches, occupies]) $bySwitch
      $since(3020) $ptsz(7000);
  memcpyDtoHV2 @379 () -> ()
      $c("cuMemcpyDtoH_v2") $class(local) $does([mayWait, reports, touches, occupies]) $since(3020) $ptds(7000)
      $onStream("cuMemcpyDtoHAsync_v2");
  memcpyHtoA @380 () -> () $c("cuMemcpyHtoA") $class(refused) $reason(.narrow) $since(2000);
  memcpyHtoAAsync @381 () -> () $c("cuMemcpyHtoAAsync") $class(refused) $reason(.narrow) $since(2000);
  memcpyHtoAAsyncV2 @382 (dstArray :UInt64 $handle, dstOffset :UInt64, source :Data, stream :UInt64 $handle) -> ()
      $c("cuMemcpyHtoAAsync_v2") $class(custom) $byHand(both) $does([mayWait, synchronizes, touches, occupies]) $since(3020) $ptsz(7000);
  memcpyHtoAV2 @383 () -> ()
      $c("cuMemcpyHtoA_v2") $class(local) $does([mayWait, touches, occupies]) $since(3020) $ptds(7000) $onStream("cuMemcpyHtoAAsync_v2");
  memcpyHtoD @384 () -> () $c("cuMemcpyHtoD") $class(refused) $reason(.narrow) $since(2000);
  memcpyHtoDAsync @385 () -> () $c("cuMemcpyHtoDAsync") $class(refused) $reason(.narrow) $since(2000);
  memcpyHtoDAsyncV2 @386 (dstDevice :UInt64 $deviceptr, source :Data, stream :UInt64 $handle, host :UInt64, bytes :UInt64) ->
      ()
      $c("cuMemcpyHtoDAsync_v2") $class(custom) $byHand(both) $does([mayWait, synchronizes, touches, occupies]) $bySwitch $since(3020)
      $ptsz(7000);
  memcpyHtoDV2 @387 () -> ()
      $c("cuMemcpyHtoD_v2") $class(local) $does([mayWait, touches, occupies]) $since(3020) $ptds(7000) $onStream("cuMemcpyHtoDAsync_v2");
  memcpyPeer @388 (dstDevice :UInt64 $deviceptr, dstContext :UInt64 $handle, srcDevice :UInt64 $deviceptr, srcContext :UInt64
      $handle, byteCount :UInt64) -> ()
      $c("cuMemcpyPeer") $class(sync) $does([mayWait, touches, maps, occupies]) $bySwitch $since(4000) $ptds(7000)
      $onStream("cuMemcpyPeerAsync");
  memcpyPeerAsync @389 (dstDevice :UInt64 $deviceptr, dstContext :UInt64 $handle, srcDevice :UInt64 $deviceptr, srcContext :UInt64
      $handle, byteCount :UInt64, stream :UInt64 $handle) -> ()
      $c("cuMemcpyPeerAsync") $class(async) $does([mayWait, touches, maps, occupies]) $bySwitch $since(4000) $ptsz(7000);
  memsetD16 @390 (dstDevice :UInt32 $deviceptr, value :UInt16, count :UInt32) -> ()
      $c("cuMemsetD16") $class(sync) $does([synchronizes, touches, occupies]) $since(2000);
  memsetD16Async @391 (dstDevice :UInt64 $deviceptr, value :UInt16, count :UInt64, stream :UInt64 $handle) -> ()
      $c("cuMemsetD16Async") $class(async) $does([synchronizes, touches, maps, occupies]) $since(3020) $ptsz(7000);
  memsetD16V2 @392 (dstDevice :UInt64 $deviceptr, value :UInt16, count :UInt64) -> ()
      $c("cuMemsetD16_v2") $class(sync) $does([synchronizes, touches, maps, occupies]) $since(3020) $ptds(7000)
      $onStream("cuMemsetD16Async");
  memsetD2D16 @393 (dstDevice :UInt32 $deviceptr, dstPitch :UInt32, value :UInt16, width :UInt32, height :UInt32) -> ()
      $c("cuMemsetD2D16") $class(sync) $does([synchronizes, touches, occupies]) $since(2000);
  memsetD2D16Async @394 (dstDevice :UInt64 $deviceptr, dstPitch :UInt64, value :UInt16, width :UInt64, height :UInt64, stream
      :UInt64 $handle) -> ()
      $c("cuMemsetD2D16Async") $class(sync) $does([synchronizes, touches, maps, occupies]) $since(3020) $ptsz(7000);
  memsetD2D16V2 @395 (dstDevice :UInt64 $deviceptr, dstPitch :UInt64, value :UInt16, width :UInt64, height :UInt64) -> ()
      $c("cuMemsetD2D16_v2") $class(sync) $does([synchronizes, touches, maps, occupies]) $since(3020) $ptds(7000)
      $onStream("cuMemsetD2D16Async");
  memsetD2D32 @396 (dstDevice :UInt32 $deviceptr, dstPitch :UInt32, value :UInt32, width :UInt32, height :UInt32) -> ()
      $c("cuMemsetD2D32") $class(sync) $does([synchronizes, touches, occupies]) $since(2000);
  memsetD2D32Async @397 (dstDevice :UInt64 $deviceptr, dstPitch :UInt64, value :UInt32, width :UInt64, height :UInt64, stream
      :UInt64 $handle) -> ()
      $c("cuMemsetD2D32Async") $class(sync) $does([synchronizes, touches, maps, occupies]) $since(3020) $ptsz(7000);
  memsetD2D32V2 @398 (dstDevice :UInt64 $deviceptr, dstPitch :UInt64, value :UInt32, width :UInt64, height :UInt64) -> ()
      $c("cuMemsetD2D32_v2") $class(sync) $does([synchronizes, touches, maps, occupies]) $since(3020) $ptds(7000)
      $onStream("cuMemsetD2D32Async");
  memsetD2D8 @399 (dstDevice :UInt32 $deviceptr, dstPitch :UInt32, value :UInt8, width :UInt32, height :UInt32) -> ()
      $c("cuMemsetD2D8") $class(sync) $does([synchronizes, touches, occupies]) $since(2000);
  memsetD2D8Async @400 (dstDevice :UInt64 $deviceptr, dstPitch :UInt64, value :UInt8, width :UInt64, height :UInt64, stream
      :UInt64 $handle) -> ()
      $c("cuMemsetD2D8Async") $class(sync) $does([synchronizes, touches, maps, occupies]) $since(3020) $ptsz(7000);
  memsetD2D8V2 @401 (dstDevice :UInt64 $deviceptr, dstPitch :UInt64, value :UInt8, width :UInt64, height :UInt64) -> ()
      $c("cuMemsetD2D8_v2") $class(sync) $does([synchronizes, touches, maps, occupies]) $since(3020) $ptds(7000)
      $onStream("cuMemsetD2D8Async");
  memsetD32 @402 (dstDevice :UInt32 $deviceptr, value :UInt32, count :UInt32) -> ()
      $c("cuMemsetD32") $class(sync) $does([synchronizes, touches, occupies]) $since(2000);
  memsetD32Async @403 (dstDevice :UInt64 $deviceptr, value :UInt32, count :UInt64, stream :UInt64 $handle) -> ()
      $c("cuMemsetD32Async") $class(async) $does([synchronizes, touches, maps, occupies]) $since(3020) $ptsz(7000);
  memsetD32V2 @404 (dstDevice :UInt64 $deviceptr, value :UInt32, count :UInt64) -> ()
      $c("cuMemsetD32_v2") $class(sync) $does([synchronizes, touches, maps, occupies]) $since(3020) $ptds(7000)
      $onStream("cuMemsetD32Async");
  memsetD8 @405 (dstDevice :UInt32 $deviceptr, value :UInt8, count :UInt32) -> ()
      $c("cuMemsetD8") $class(sync) $does([synchronizes, touches, occupies]) $since(2000);
  memsetD8Async @406 (dstDevice :UInt64 $deviceptr, value :UInt8, count :UInt64, stream :UInt64 $handle) -> ()
      $c("cuMemsetD8Async") $class(async) $does([synchronizes, touches, maps, occupies]) $since(3020) $ptsz(7000);
  memsetD8V2 @407 (dstDevice :UInt64 $deviceptr, value :UInt8, count :UInt64) -> ()
      $c("cuMemsetD8_v2") $class(sync) $does([synchronizes, touches, maps, occupies]) $since(3020) $ptds(7000)
      $onStream("cuMemsetD8Async");
  mipmappedArrayCreate @408 (descriptor :Array3dDescriptor, levelCount :UInt32) -> (handle :UInt64 $handle)
      $c("cuMipmappedArrayCreate") $class(sync) $does([makes, mayWait, takes]) $since(5000);
  mipmappedArrayDestroy @409 (mipmappedArray :UInt64 $handle) -> ()
      $c("cuMipmappedArrayDestroy") $class(sync) $does([ends, mayWait, synchronizes, gives]) $since(5000);
  mipmappedArrayGetLevel @410 (mipmappedArray :UInt64 $handle, level :UInt32) -> (levelArray :UInt64 $handle)
      $c("cuMipmappedArrayGetLevel") $class(sync) $does([gets]) $since(5000);
  mipmappedArrayGetMemoryRequirements @411 (mipmap :UInt64 $handle, device :Int32 $handle) -> (memoryRequirements
      :ArrayMemoryRequirements)
      $c("cuMipmappedArrayGetMemoryRequirements") $class(sync) $does([plain]) $since(11060);
  mipmappedArrayGetSparseProperties @412 (mipmap :UInt64 $handle) -> (sparseProperties :ArraySparseProperties)
      $c("cuMipmappedArrayGetSparseProperties") $class(sync) $does([plain]) $since(11010);
  moduleEnumerateFunctions @413 (functionCount :UInt32, module :UInt64 $handle) -> (functions :List(UInt64) $handle
      $count("functionCount"))
      $c("cuModuleEnumerateFunctions") $class(sync) $does([gets, namesKernel, takes]) $since(12040);
  moduleGetFunction @414 (module :UInt64 $handle, name :Text, promised :UInt64) -> (function :UInt64 $handle, layout :Layout)
      $c("cuModuleGetFunction") $class(custom) $byHand(both) $does([gets, ofCode, namesKernel, noWork, takes]) $since(2000);
  moduleGetFunctionCount @415 (module :UInt64 $handle) -> (count :UInt32)
      $c("cuModuleGetFunctionCount") $class(cached) $does([plain]) $since(12040);
  moduleGetGlobal @416 (module :UInt64 $handle, name :Text) -> (address :UInt32 $deviceptr $nullable, bytes :UInt32 $nullable)
      $c("cuModuleGetGlobal") $class(sync) $does([gets]) $since(2000);
  moduleGetGlobalV2 @417 (module :UInt64 $handle, name :Text) -> (address :UInt64 $deviceptr $nullable, bytes :UInt64 $nullable)
      $c("cuModuleGetGlobal_v2") $class(cached) $does([gets]) $placed("address ? *address : 0; bytes ? *bytes : 0")
      $since(3020);
  moduleGetLoadingMode @418 () -> (mode :UInt32) $c("cuModuleGetLoadingMode") $class(cached) $does([plain]) $since(11070);
  moduleGetSurfRef @419 (module :UInt64 $handle, name :Text) -> (reference :UInt64 $handle)
      $c("cuModuleGetSurfRef") $class(sync) $does([gets]) $since(3000);
  moduleGetTexRef @420 (module :UInt64 $handle, name :Text) -> (reference :UInt64 $handle)
      $c("cuModuleGetTexRef") $class(sync) $does([gets]) $since(2000);
  moduleLoad @421 () -> () $c("cuModuleLoad") $class(local) $does([makes, takes]) $since(2000);
  moduleLoadData @422 () -> () $c("cuModuleLoadData") $class(local) $does([makes, mayWait, takes]) $since(2000);
  moduleLoadDataEx @423 (images :List(Image), options :List(JitOption), promised :UInt64) -> (module :UInt64 $handle, results
      :List(JitOption))
      $c("cuModuleLoadDataEx") $class(custom) $byHand(both) $does([makes, ofCode, mayWait, takes]) $since(2010);
  moduleLoadFatBinary @424 () -> () $c("cuModuleLoadFatBinary") $class(local) $does([makes, mayWait, takes]) $since(2000);
  moduleUnload @425 (module :UInt64 $handle) -> ()
      $c("cuModuleUnload") $class(sync) $forgets("*") $does([ends, mayWait, synchronizes, gives]) $since(2000);
  multicastAddDevice @426 (mcHandle :UInt64 $handle, device :Int32 $handle) -> ()
      $c("cuMulticastAddDevice") $class(sync) $does([plain]) $since(12010);
  multicastBindAddr @427 (mcHandle :UInt64 $handle, mcOffset :UInt64, address :UInt64 $deviceptr, size :UInt64, flags :UInt64) ->
      ()
      $c("cuMulticastBindAddr") $class(sync) $does([plain]) $since(12010);
  multicastBindMem @428 (mcHandle :UInt64 $handle, mcOffset :UInt64, memHandle :UInt64 $handle, memOffset :UInt64, size :UInt64,
      flags :UInt64) -> ()
      $c("cuMulticastBindMem") $class(sync) $does([plain]) $since(12010);
  multicastCreate @429 (properties :MulticastObjectProp) -> (mcHandle :UInt64 $handle)
      $c("cuMulticastCreate") $class(sync) $does([makes, uncounted]) $since(12010);
  multicastGetGranularity @430 (properties :MulticastObjectProp, option :UInt32) -> (granularity :UInt64)
      $c("cuMulticastGetGranularity") $class(cached) $does([plain]) $since(12010);
  multicastUnbind @431 (mcHandle :UInt64 $handle, device :Int32 $handle, mcOffset :UInt64, size :UInt64) -> ()
      $c("cuMulticastUnbind") $class(sync) $does([plain]) $since(12010);
  occupancyAvailableDynamicSMemPerBlock @432 (function :UInt64 $handle, blockCount :Int32, blockSize :Int32) -> (dynamicSmemSize
      :UInt64)
      $c("cuOccupancyAvailableDynamicSMemPerBlock") $class(cached) $does([ofSettings, ofCode]) $since(10020);
  occupancyMaxActiveBlocksPerMultiprocessor @433 (function :UInt64 $handle, blockSize :Int32, dynamicSMemSize :UInt64) ->
      (blockCount :Int32)
      $c("cuOccupancyMaxActiveBlocksPerMultiprocessor") $class(cached) $does([ofSettings, ofCode]) $since(6050);
  occupancyMaxActiveBlocksPerMultiprocessorWithFlags @434 (function :UInt64 $handle, blockSize :Int32, dynamicSMemSize :UInt64,
      flags :UInt32) -> (blockCount :Int32)
      $c("cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags") $class(cached) $does([ofSettings, ofCode]) $since(7000);
  occupancyMaxActiveClusters @435 (function :UInt64 $handle, config :LaunchConfig) -> (clusterCount :Int32)
      $c("cuOccupancyMaxActiveClusters") $class(custom) $byHand(client) $isCached $does([ofSettings, ofCode, refusalIsAnswer])
      $since(11070);
  occupancyMaxPotentialBlockSize @436 () -> () $c("cuOccupancyMaxPotentialBlockSize") $class(local) $does([plain]) $since(6050);
  occupancyMaxPotentialBlockSizeWithFlags @437 (function :UInt64 $handle, dynamicSMemSize :UInt64, blockSizeLimit :Int32, flags
      :UInt32) -> (minGridSize :Int32, blockSize :Int32)
      $c("cuOccupancyMaxPotentialBlockSizeWithFlags") $class(custom) $byHand(both) $does([plain]) $since(7000);
  occupancyMaxPotentialClusterSize @438 (function :UInt64 $handle, config :LaunchConfig) -> (clusterSize :Int32)
      $c("cuOccupancyMaxPotentialClusterSize") $class(cached) $does([ofSettings, ofCode]) $since(11070);
  paramSetSize @439 (function :UInt64 $handle, bytes :UInt32 $atMost("4096")) -> ()
      $c("cuParamSetSize") $class(sync) $does([plain]) $since(2000);
  paramSetTexRef @440 (function :UInt64 $handle, unit :Int32, reference :UInt64 $handle) -> ()
      $c("cuParamSetTexRef") $class(sync) $does([plain]) $since(2000);
  paramSetf @441 (function :UInt64 $handle, offset :Int32 $atMost("4096 - 4"), value :Float32) -> ()
      $c("cuParamSetf") $class(sync) $does([plain]) $since(2000);
  paramSeti @442 (function :UInt64 $handle, offset :Int32 $atMost("4096 - 4"), value :UInt32) -> ()
      $c("cuParamSeti") $class(sync) $does([plain]) $since(2000);
  paramSetv @443 (function :UInt64 $handle, offset :Int32 $atMost("4096 - (int64_t)bytes"), memory :Data $bytesOf("bytes")) -> ()
      $c("cuParamSetv") $class(sync) $does([plain]) $since(2000);
  pointerGetAttribute @444 (attribute :UInt32, address :UInt64 $deviceptr) -> (data :Data
      $bytesOf("ath_cuda_bytes_of_pointer_attribute(attribute)"))
      $c("cuPointerGetAttribute") $class(custom) $byHand(client) $isCached $does([plain]) $since(4000);
  pointerGetAttributes @445 (attributes :List(UInt32), address :UInt64 $deviceptr) -> (values :List(Data))
      $c("cuPointerGetAttributes") $class(custom) $byHand(both) $isCached $does([plain]) $since(7000);
  pointerSetAttribute @446 (value :Data $bytesOf("ath_cuda_bytes_of_pointer_attribute(attribute)"), attribute :UInt32, address
      :UInt64 $deviceptr) -> ()
      $c("cuPointerSetAttribute") $class(sync) $forgets("pointerGetAttribute pointerGetAttributes") $does([plain]) $since(6000);
  profilerInitialize @447 (configFile :Text, outputFile :Text, mode :UInt32) -> ()
      $c("cuProfilerInitialize") $class(sync) $does([plain]) $since(4000);
  profilerStart @448 () -> () $c("cuProfilerStart") $class(async) $does([plain]) $bySwitch $since(4000);
  profilerStop @449 () -> () $c("cuProfilerStop") $class(async) $does([plain]) $bySwitch $since(4000);
  signalExternalSemaphoresAsync @450 () -> ()
      $c("cuSignalExternalSemaphoresAsync") $class(refused) $reason(.external) $since(10000) $ptsz(10000);
  streamAddCallback @451 (stream :UInt64 $handle, callback :UInt64, flags :UInt32) -> ()
      $c("cuStreamAddCallback") $class(custom) $byHand(both) $does([awaitsOthers]) $since(5000) $ptsz(7000);
  streamAttachMemAsync @452 (stream :UInt64 $handle, address :UInt64 $deviceptr, length :UInt64, flags :UInt32) -> ()
      $c("cuStreamAttachMemAsync") $class(sync) $does([noTurn]) $since(6000) $ptsz(7000);
  streamBatchMemOp @453 (stream :UInt64 $handle, params :List(StreamBatchMemOpParams) $count("count"), flags :UInt32) -> ()
      $c("cuStreamBatchMemOp") $class(sync) $does([touches, awaitsMemory]) $since(8000) $ptsz(8000);
  streamBatchMemOpV2 @454 (stream :UInt64 $handle, params :List(StreamBatchMemOpParams) $count("count"), flags :UInt32) -> ()
      $c("cuStreamBatchMemOp_v2") $class(sync) $does([touches, awaitsMemory]) $since(11070) $ptsz(11070);
  streamBeginCapture @455 (stream :UInt64 $handle) -> ()
      $c("cuStreamBeginCapture") $class(custom) $byHand(client) $does([beginsCapture]) $since(10000) $ptsz(10000);
  streamBeginCaptureToGraph @456 (stream :UInt64 $handle, graph :UInt64 $handle, dependencies :List(UInt64) $handle
      $count("dependencyCount") $nullable, edges :List(GraphEdgeData) $count("dependencyCount") $nullable, mode :UInt32) -> ()
      $c("cuStreamBeginCaptureToGraph") $class(custom) $byHand(client) $does([beginsCapture]) $since(12030) $ptsz(12030);
  streamBeginCaptureV2 @457 (stream :UInt64 $handle, mode :UInt32) -> ()
      $c("cuStreamBeginCapture_v2") $class(custom) $byHand(client) $does([beginsCapture]) $since(10010) $ptsz(10010);
  streamCopyAttributes @458 (dstStream :UInt64 $handle, srcStream :UInt64 $handle) -> ()
      $c("cuStreamCopyAttributes") $class(sync) $does([noTurn]) $since(11000) $ptsz(11000);
  streamCreate @459 (flags :UInt32) -> (stream :UInt64 $handle)
      $c("cuStreamCreate") $class(sync) $does([makes, stocked, noWork]) $since(2000);
  streamCreateWithPriority @460 (flags :UInt32, priority :Int32) -> (stream :UInt64 $handle)
      $c("cuStreamCreateWithPriority") $class(sync) $does([makes, stocked, noWork]) $since(5050);
  streamDestroy @461 (stream :UInt64 $handle) -> ()
      $c("cuStreamDestroy") $class(async) $forgets("ofStream") $does([ends]) $since(2000);
  streamDestroyV2 @462 (stream :UInt64 $handle) -> ()
      $c("cuStreamDestroy_v2") $class(async) $forgets("ofStream") $does([ends]) $since(4000);
  streamEndCapture @463 (stream :UInt64 $handle) -> (graph :UInt64 $handle)
      $c("cuStreamEndCapture") $differs(.twoNodes) $class(custom) $byHand(client) $does([makes, endsCapture]) $since(10000) $ptsz(10000);
  streamGetAttribute @464 (stream :UInt64 $handle, attribute :UInt32) -> (value :Data $bytesOf("sizeof(CUlaunchAttributeValue)"))
      $c("cuStreamGetAttribute") $class(sync) $does([noTurn]) $since(11000) $ptsz(11000);
  streamGetCaptureInfo @465 (stream :UInt64 $handle) -> (status :UInt32, id :UInt64 $nullable)
      $c("cuStreamGetCaptureInfo") $class(custom) $byHand(client) $does([noTurn]) $since(10010) $ptsz(10010);
  streamGetCaptureInfoV2 @466 (stream :UInt64 $handle) -> (status :UInt32, id :UInt64 $nullable, graph :UInt64 $handle $nullable,
      dependencies :List(UInt64) $handle $upTo("dependencyCount") $kept("stream") $nullable, dependencyCount :UInt64 $nullable)
      $c("cuStreamGetCaptureInfo_v2") $class(custom) $byHand(client) $does([gets]) $since(11030) $ptsz(11030);
  streamGetCaptureInfoV3 @467 (stream :UInt64 $handle) -> (status :UInt32, id :UInt64 $nullable, graph :UInt64 $handle $nullable,
      dependencies :List(UInt64) $handle $upTo("dependencyCount") $kept("stream") $nullable, edges :List(GraphEdgeData)
      $upTo("dependencyCount") $kept("stream") $nullable, dependencyCount :UInt64 $nullable)
      $c("cuStreamGetCaptureInfo_v3") $class(custom) $byHand(client) $does([gets]) $since(12030) $ptsz(12030);
  streamGetCtx @468 (stream :UInt64 $handle) -> (context :UInt64 $handle)
      $c("cuStreamGetCtx") $class(cached) $does([gets, ofStream]) $since(9020) $ptsz(9020);
  streamGetCtxV2 @469 (stream :UInt64 $handle) -> (context :UInt64 $handle $nullable, greenContext :UInt64 $handle $nullable)
      $c("cuStreamGetCtx_v2") $class(sync) $does([gets]) $since(12050) $ptsz(12050);
  streamGetDevice @470 (stream :UInt64 $handle) -> (device :Int32 $handle)
      $c("cuStreamGetDevice") $class(cached) $does([gets, ofStream]) $since(12080) $ptsz(12080);
  streamGetFlags @471 (stream :UInt64 $handle) -> (flags :UInt32)
      $c("cuStreamGetFlags") $class(cached) $does([ofStream]) $since(5050) $ptsz(7000);
  streamGetGreenCtx @472 (stream :UInt64 $handle) -> (context :UInt64 $handle)
      $c("cuStreamGetGreenCtx") $class(sync) $does([gets]) $since(12040);
  streamGetId @473 (stream :UInt64 $handle) -> (id :UInt64)
      $c("cuStreamGetId") $class(cached) $does([ofStream]) $since(12000) $ptsz(12000);
  streamGetPriority @474 (stream :UInt64 $handle) -> (priority :Int32)
      $c("cuStreamGetPriority") $class(cached) $does([ofStream]) $since(5050) $ptsz(7000);
  streamIsCapturing @475 (stream :UInt64 $handle) -> (status :UInt32)
      $c("cuStreamIsCapturing") $class(custom) $byHand(client) $does([offline, noTurn]) $since(10000) $ptsz(10000);
  streamQuery @476 (stream :UInt64 $handle) -> ()
      $c("cuStreamQuery") $class(sync) $does([synchronizes, reports, touches, noTurn]) $since(2000) $ptsz(7000);
  streamSetAttribute @477 (stream :UInt64 $handle, attribute :UInt32, param :Data $bytesOf("sizeof(CUlaunchAttributeValue)")) ->
      ()
      $c("cuStreamSetAttribute") $class(sync) $does([noTurn]) $since(11000) $ptsz(11000);
  streamSynchronize @478 (stream :UInt64 $handle) -> ()
      $c("cuStreamSynchronize") $class(custom) $byHand(client) $does([waits, synchronizes, reports, touches, counts])
      $since(2000) $ptsz(7000);
  streamUpdateCaptureDependencies @479 (stream :UInt64 $handle, dependencies :List(UInt64) $handle $count("dependencyCount")
      $nullable, flags :UInt32) -> ()
      $c("cuStreamUpdateCaptureDependencies") $class(sync) $does([noTurn]) $since(11030) $ptsz(11030);
  streamUpdateCaptureDependenciesV2 @480 (stream :UInt64 $handle, dependencies :List(UInt64) $handle $count("dependencyCount")
      $nullable, edges :List(GraphEdgeData) $count("dependencyCount") $nullable, flags :UInt32) -> ()
      $c("cuStreamUpdateCaptureDependencies_v2") $class(sync) $does([noTurn]) $since(12030) $ptsz(12030);
  streamWaitEvent @481 (stream :UInt64 $handle, event :UInt64 $handle, flags :UInt32) -> ()
      $c("cuStreamWaitEvent") $class(async) $askedIf("flags > CU_EVENT_WAIT_EXTERNAL") $does([joinsCapture]) $bySwitch $since(3020) $ptsz(7000);
  streamWaitValue32 @482 (stream :UInt64 $handle, address :UInt64 $deviceptr, value :UInt32, flags :UInt32) -> ()
      $c("cuStreamWaitValue32") $class(async)
      $askedIf("flags & ~(unsigned int)(CU_STREAM_WAIT_VALUE_NOR | CU_STREAM_WAIT_VALUE_FLUSH)") $does([touches, maps, awaitsMemory]) $since(8000) $ptsz(8000);
  streamWaitValue32V2 @483 (stream :UInt64 $handle, address :UInt64 $deviceptr, value :UInt32, flags :UInt32) -> ()
      $c("cuStreamWaitValue32_v2") $class(async)
      $askedIf("flags & ~(unsigned int)(CU_STREAM_WAIT_VALUE_NOR | CU_STREAM_WAIT_VALUE_FLUSH)") $does([touches, maps, awaitsMemory]) $since(11070) $ptsz(11070);
  streamWaitValue64 @484 (stream :UInt64 $handle, address :UInt64 $deviceptr, value :UInt64, flags :UInt32) -> ()
      $c("cuStreamWaitValue64") $class(async)
      $askedIf("flags & ~(unsigned int)(CU_STREAM_WAIT_VALUE_NOR | CU_STREAM_WAIT_VALUE_FLUSH)") $does([touches, maps, awaitsMemory]) $since(9000) $ptsz(9000);
  streamWaitValue64V2 @485 (stream :UInt64 $handle, address :UInt64 $deviceptr, value :UInt64, flags :UInt32) -> ()
      $c("cuStreamWaitValue64_v2") $class(async)
      $askedIf("flags & ~(unsigned int)(CU_STREAM_WAIT_VALUE_NOR | CU_STREAM_WAIT_VALUE_FLUSH)") $does([touches, maps, awaitsMemory]) $since(11070) $ptsz(11070);
  streamWriteValue32 @486 (stream :UInt64 $handle, address :UInt64 $deviceptr, value :UInt32, flags :UInt32) -> ()
      $c("cuStreamWriteValue32") $class(async)
      $askedIf("flags & ~(unsigned int)(CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER)") $does([touches, maps, noTurn]) $since(8000) $ptsz(8000);
  streamWriteValue32V2 @487 (stream :UInt64 $handle, address :UInt64 $deviceptr, value :UInt32, flags :UInt32) -> ()
      $c("cuStreamWriteValue32_v2") $class(async)
      $askedIf("flags & ~(unsigned int)(CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER)") $does([touches, maps, noTurn]) $since(11070) $ptsz(11070);
  streamWriteValue64 @488 (stream :UInt64 $handle, address :UInt64 $deviceptr, value :UInt64, flags :UInt32) -> ()
      $c("cuStreamWriteValue64") $class(async)
      $askedIf("flags & ~(unsigned int)(CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER)") $does([touches, maps, noTurn]) $since(9000) $ptsz(9000);
  streamWriteValue64V2 @489 (stream :UInt64 $handle, address :UInt64 $deviceptr, value :UInt64, flags :UInt32) -> ()
      $c("cuStreamWriteValue64_v2") $class(async)
      $askedIf("flags & ~(unsigned int)(CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER)") $does([touches, maps, noTurn]) $since(11070) $ptsz(11070);
  surfObjectCreate @490 (resource :ResourceDesc) -> (surfObject :UInt64 $handle)
      $c("cuSurfObjectCreate") $class(sync) $does([makes]) $since(5000);
  surfObjectDestroy @491 (surfObject :UInt64 $handle) -> () $c("cuSurfObjectDestroy") $class(sync) $does([ends]) $since(5000);
  surfObjectGetResourceDesc @492 (surfObject :UInt64 $handle) -> (resource :ResourceDesc)
      $c("cuSurfObjectGetResourceDesc") $class(sync) $does([plain]) $since(5000);
  surfRefGetArray @493 (reference :UInt64 $handle) -> (array :UInt64 $handle)
      $c("cuSurfRefGetArray") $class(sync) $does([gets]) $since(3000);
  surfRefSetArray @494 (reference :UInt64 $handle, array :UInt64 $handle, flags :UInt32) -> ()
      $c("cuSurfRefSetArray") $class(sync) $does([plain]) $since(3000);
  tensorMapEncodeIm2col @495 (tensorDataType :UInt32, tensorRank :UInt32, globalAddress :UInt64 $deviceptr, globalDim
      :List(UInt64) $count("tensor_rank"), globalStrides :List(UInt64) $count("tensor_rank - 1"), pixelBoxLowerCorner :List(Int32)
      $count("tensor_rank - 2"), pixelBoxUpperCorner :List(Int32) $count("tensor_rank - 2"), channelsPerPixel :UInt32,
      pixelsPerColumn :UInt32, elementStrides :List(UInt32) $count("tensor_rank"), interleave :UInt32, swizzle :UInt32,
      l2Promotion :UInt32, oobFill :UInt32) -> (tensorMap :Data $bytesOf("sizeof(CUtensorMap)"))
      $c("cuTensorMapEncodeIm2col") $class(cached) $does([plain]) $since(12000);
  tensorMapEncodeIm2colWide @496 (tensorDataType :UInt32, tensorRank :UInt32, globalAddress :UInt64 $deviceptr, globalDim
      :List(UInt64) $count("tensor_rank"), globalStrides :List(UInt64) $count("tensor_rank - 1"), pixelBoxLowerCornerWidth :Int32,
      pixelBoxUpperCornerWidth :Int32, channelsPerPixel :UInt32, pixelsPerColumn :UInt32, elementStrides :List(UInt32)
      $count("tensor_rank"), interleave :UInt32, mode :UInt32, swizzle :UInt32, l2Promotion :UInt32, oobFill :UInt32) ->
      (tensorMap :Data $bytesOf("sizeof(CUtensorMap)"))
      $c("cuTensorMapEncodeIm2colWide") $class(cached) $does([plain]) $since(12080);
  tensorMapEncodeTiled @497 (tensorDataType :UInt32, tensorRank :UInt32, globalAddress :UInt64 $deviceptr, globalDim :List(UInt64)
      $count("tensor_rank"), globalStrides :List(UInt64) $count("tensor_rank - 1"), boxDim :List(UInt32) $count("tensor_rank"),
      elementStrides :List(UInt32) $count("tensor_rank"), interleave :UInt32, swizzle :UInt32, l2Promotion :UInt32, oobFill
      :UInt32) -> (tensorMap :Data $bytesOf("sizeof(CUtensorMap)"))
      $c("cuTensorMapEncodeTiled") $class(cached) $does([plain]) $since(12000);
  tensorMapReplaceAddress @498 (tensorMap :Data $bytesOf("sizeof(CUtensorMap)"), globalAddress :UInt64 $deviceptr) -> (tensorMap
      :Data $bytesOf("sizeof(CUtensorMap)"))
      $c("cuTensorMapReplaceAddress") $class(sync) $does([plain]) $since(12000);
  texObjectCreate @499 (resource :ResourceDesc, texture :TextureDesc $nullable, view :ResourceViewDesc $nullable) -> (texObject
      :UInt64 $handle)
      $c("cuTexObjectCreate") $class(sync) $does([makes]) $since(5000);
  texObjectDestroy @500 (texObject :UInt64 $handle) -> () $c("cuTexObjectDestroy") $class(sync) $does([ends]) $since(5000);
  texObjectGetResourceDesc @501 (texObject :UInt64 $handle) -> (resource :ResourceDesc)
      $c("cuTexObjectGetResourceDesc") $class(sync) $does([plain]) $since(5000);
  texObjectGetResourceViewDesc @502 (texObject :UInt64 $handle) -> (view :ResourceViewDesc)
      $c("cuTexObjectGetResourceViewDesc") $class(sync) $does([plain]) $since(5000);
  texObjectGetTextureDesc @503 (texObject :UInt64 $handle) -> (texture :TextureDesc)
      $c("cuTexObjectGetTextureDesc") $class(sync) $does([plain]) $since(5000);
  texRefCreate @504 () -> (reference :UInt64 $handle) $c("cuTexRefCreate") $class(sync) $does([makes]) $since(2000);
  texRefDestroy @505 (reference :UInt64 $handle) -> () $c("cuTexRefDestroy") $class(sync) $does([ends]) $since(2000);
  texRefGetAddress @506 (reference :UInt64 $handle) -> (address :UInt32 $deviceptr)
      $c("cuTexRefGetAddress") $class(sync) $does([gets]) $since(2000);
  texRefGetAddressMode @507 (reference :UInt64 $handle, dim :Int32) -> (mode :UInt32)
      $c("cuTexRefGetAddressMode") $class(sync) $does([plain]) $since(2000);
  texRefGetAddressV2 @508 (reference :UInt64 $handle) -> (address :UInt64 $deviceptr)
      $c("cuTexRefGetAddress_v2") $class(sync) $does([gets]) $since(3020);
  texRefGetArray @509 (reference :UInt64 $handle) -> (array :UInt64 $handle)
      $c("cuTexRefGetArray") $class(sync) $does([gets]) $since(2000);
  texRefGetBorderColor @510 (reference :UInt64 $handle) -> (color :Data $bytesOf("4 * sizeof(float)"))
      $c("cuTexRefGetBorderColor") $class(sync) $does([plain]) $since(8000);
  texRefGetFilterMode @511 (reference :UInt64 $handle) -> (mode :UInt32)
      $c("cuTexRefGetFilterMode") $class(sync) $does([plain]) $since(2000);
  texRefGetFlags @512 (reference :UInt64 $handle) -> (flags :UInt32)
      $c("cuTexRefGetFlags") $class(sync) $does([plain]) $since(2000);
  texRefGetFormat @513 (reference :UInt64 $handle) -> (format :UInt32 $nullable, channelCount :Int32 $nullable)
      $c("cuTexRefGetFormat") $class(sync) $does([plain]) $since(2000);
  texRefGetMaxAnisotropy @514 (reference :UInt64 $handle) -> (maxAnisotropy :Int32)
      $c("cuTexRefGetMaxAnisotropy") $class(sync) $does([plain]) $since(5000);
  texRefGetMipmapFilterMode @515 (reference :UInt64 $handle) -> (mode :UInt32)
      $c("cuTexRefGetMipmapFilterMode") $class(sync) $does([plain]) $since(5000);
  texRefGetMipmapLevelBias @516 (reference :UInt64 $handle) -> (bias :Float32)
      $c("cuTexRefGetMipmapLevelBias") $class(sync) $does([plain]) $since(5000);
  texRefGetMipmapLevelClamp @517 (reference :UInt64 $handle) -> (minClamp :Float32, maxClamp :Float32)
      $c("cuTexRefGetMipmapLevelClamp") $class(sync) $does([plain]) $since(5000);
  texRefGetMipmappedArray @518 (reference :UInt64 $handle) -> (mipmappedArray :UInt64 $handle)
      $c("cuTexRefGetMipmappedArray") $class(sync) $does([gets]) $since(5000);
  texRefSetAddress @519 (reference :UInt64 $handle, address :UInt32 $deviceptr, bytes :UInt32) -> (byteOffset :UInt32 $nullable)
      $c("cuTexRefSetAddress") $class(sync) $does([plain]) $since(2000);
  texRefSetAddress2D @520 (reference :UInt64 $handle, descriptor :ArrayDescriptorV1, address :UInt32 $deviceptr, pitch :UInt32) ->
      ()
      $c("cuTexRefSetAddress2D") $class(sync) $does([plain]) $since(2020);
  texRefSetAddress2DV2 @521 (reference :UInt64 $handle, descriptor :ArrayDescriptor, address :UInt64 $deviceptr, pitch :UInt64) ->
      ()
      $c("cuTexRefSetAddress2D_v2") $class(sync) $does([plain]) $since(3020);
  texRefSetAddress2DV3 @522 (reference :UInt64 $handle, descriptor :ArrayDescriptor, address :UInt64 $deviceptr, pitch :UInt64) ->
      ()
      $c("cuTexRefSetAddress2D_v3") $class(sync) $does([plain]) $since(4010);
  texRefSetAddressMode @523 (reference :UInt64 $handle, dim :Int32, mode :UInt32) -> ()
      $c("cuTexRefSetAddressMode") $class(sync) $does([plain]) $since(2000);
  texRefSetAddressV2 @524 (reference :UInt64 $handle, address :UInt64 $deviceptr, bytes :UInt64) -> (byteOffset :UInt64 $nullable)
      $c("cuTexRefSetAddress_v2") $class(sync) $does([plain]) $since(3020);
  texRefSetArray @525 (reference :UInt64 $handle, array :UInt64 $handle, flags :UInt32) -> ()
      $c("cuTexRefSetArray") $class(sync) $does([plain]) $since(2000);
  texRefSetBorderColor @526 (reference :UInt64 $handle, color :Data $bytesOf("4 * sizeof(float)")) -> ()
      $c("cuTexRefSetBorderColor") $class(sync) $does([plain]) $since(8000);
  texRefSetFilterMode @527 (reference :UInt64 $handle, mode :UInt32) -> ()
      $c("cuTexRefSetFilterMode") $class(sync) $does([plain]) $since(2000);
  texRefSetFlags @528 (reference :UInt64 $handle, flags :UInt32) -> ()
      $c("cuTexRefSetFlags") $class(sync) $does([plain]) $since(2000);
  texRefSetFormat @529 (reference :UInt64 $handle, format :UInt32, numPackedComponents :Int32) -> ()
      $c("cuTexRefSetFormat") $class(sync) $does([plain]) $since(2000);
  texRefSetMaxAnisotropy @530 (reference :UInt64 $handle, maxAnisotropy :UInt32) -> ()
      $c("cuTexRefSetMaxAnisotropy") $class(sync) $does([plain]) $since(5000);
  texRefSetMipmapFilterMode @531 (reference :UInt64 $handle, mode :UInt32) -> ()
      $c("cuTexRefSetMipmapFilterMode") $class(sync) $does([plain]) $since(5000);
  texRefSetMipmapLevelBias @532 (reference :UInt64 $handle, bias :Float32) -> ()
      $c("cuTexRefSetMipmapLevelBias") $class(sync) $does([plain]) $since(5000);
  texRefSetMipmapLevelClamp @533 (reference :UInt64 $handle, minClamp :Float32, maxClamp :Float32) -> ()
      $c("cuTexRefSetMipmapLevelClamp") $class(sync) $does([plain]) $since(5000);
  texRefSetMipmappedArray @534 (reference :UInt64 $handle, mipmappedArray :UInt64 $handle, flags :UInt32) -> ()
      $c("cuTexRefSetMipmappedArray") $class(sync) $does([plain]) $since(5000);
  threadExchangeStreamCaptureMode @535 () -> ()
      $c("cuThreadExchangeStreamCaptureMode") $class(local) $does([plain]) $bySwitch $since(10010);
  userObjectCreate @536 (callback :UInt64, initialRefcount :UInt32, flags :UInt32) -> (object :UInt64 $handle)
      $c("cuUserObjectCreate") $class(custom) $byHand(both) $does([makes]) $since(11030);
  userObjectRelease @537 (object :UInt64 $handle, count :UInt32) -> ()
      $c("cuUserObjectRelease") $class(sync) $does([ends]) $since(11030);
  userObjectRetain @538 (object :UInt64 $handle, count :UInt32) -> ()
      $c("cuUserObjectRetain") $class(sync) $does([plain]) $since(11030);
  waitExternalSemaphoresAsync @539 () -> ()
      $c("cuWaitExternalSemaphoresAsync") $class(refused) $reason(.external) $since(10000) $ptsz(10000);
  nextCallback @540 (done :UInt64) -> (ticket :UInt64, callback :UInt64, stream :UInt64 $handle, status :UInt32, isLast :Bool)
      $c("athNextCallback") $class(custom) $byHand(both) $internal $does([gets, waits, synchronizes, overtakes])
      $since(13000);
  pushMemory @541 (parts :List(MemoryPart)) -> ()
      $c("athPushMemory") $class(custom) $byHand(both) $internal $does([overtakes]) $since(13000);
  pullMemory @542 () -> () # what the GPU changed in mirrors comes ahead of its answer, as of every call that synchronizes
      $c("athPullMemory") $class(custom) $byHand(both) $internal $does([synchronizes, overtakes]) $since(13000);
  functionLayout @543 (function :UInt64 $handle, isKernel :Bool) -> (layout :Layout)
      $c("athFunctionLayout") $class(custom) $byHand(both) $internal $does([plain]) $since(13000);
  hostCopy @544 (copy :Memcpy3dPeer, stream :UInt64 $handle, source :Data) -> (data :Data)
      $c("athHostCopy") $class(custom) $byHand(both) $internal $does([waits, synchronizes, touches]) $since(13000);
  uploadImage @545 (id :UInt64, offset :UInt64, total :UInt64, data :Data) -> ()
      $c("athUploadImage") $class(custom) $byHand(both) $internal $does([plain]) $since(13000);
  forgetShare @546 (token :Data) -> () $c("athForgetShare") $class(custom) $byHand(both) $internal $does([plain]) $since(13000);
  quiesce @547 () -> ()
      $c("athQuiesce") $class(custom) $byHand(both) $internal $does([waits, synchronizes, touches]) $since(13000);
  graphAddConditionalNode @548 (graph :UInt64 $handle, dependencies :List(UInt64) $handle, handle :UInt64 $handle, type :UInt32,
      size :UInt32, context :UInt64 $handle) -> (node :UInt64 $handle, graphs :List(UInt64) $handle)
      $c("athGraphAddConditionalNode") $class(custom) $byHand(both) $internal $does([makes]) $since(13000);
  graphAddOwnedNode @549 (graph :UInt64 $handle, dependencies :List(UInt64) $handle, edges :List(GraphEdgeData), child :UInt64 $handle,
      ownership :Int32) -> (node :UInt64 $handle) # a child graph with an owner: CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE
      $c("athGraphAddOwnedNode") $class(custom) $byHand(both) $internal $does([makes]) $since(13000);
  graphSetChild @550 (node :UInt64 $handle, child :UInt64 $handle, ownership :Int32) -> ()
      $c("athGraphSetChild") $class(custom) $byHand(both) $internal $does([plain]) $since(13000);
  graphExecSetChild @551 (graphExec :UInt64 $handle, node :UInt64 $handle, child :UInt64 $handle, ownership :Int32) -> ()
      $c("athGraphExecSetChild") $class(custom) $byHand(both) $internal $does([plain]) $since(13000);
  libraryKernels @552 (library :UInt64 $handle, printA :UInt64, printB :UInt64, name :Text) -> (kernels :List(NamedKernel)) # of many those that are named most like `name`; none without it
      $c("athLibraryKernels") $class(custom) $byHand(both) $internal $does([noWork]) $since(13000);
}
