@0xfe0fa22fade0206a;
# Every form that proto/generate.py writes, for tests.
using Common = import "../../proto/common.capnp";
$Common.prefix("every");

annotation label @0xb99a4e40b41d5f9f (*) :Text;

const answer :Int32 = -42;
const word :Text = "a \"word\"\n\x01";
const isTrue :Bool = true;

enum Colour {
  red @0;
  darkGreen @1;
  blue @2;
}

struct Numbers {
  aBool @0 :Bool;
  anotherBool @1 :Bool = true;
  i8 @2 :Int8;
  i16 @3 :Int16 = -300;
  i32 @4 :Int32;
  i64 @5 :Int64 = -5000000000;
  u8 @6 :UInt8 = 200;
  u16 @7 :UInt16;
  u32 @8 :UInt32 = 4000000000;
  u64 @9 :UInt64;
  f32 @10 :Float32 = 1.5;
  f64 @11 :Float64;
  third @12 :Bool;
  colour @13 :Colour = blue;
  f64d @14 :Float64 = -0.125;
  nothing @15 :Void;
}

struct Everything {
  numbers @0 :Numbers;
  text @1 :Text;
  greeting @2 :Text = "hello";
  bytes @3 :Data;
  magic @4 :Data = 0x"00 ff 22";
  union {
    empty @5 :Void;
    number @6 :Int16;
    isSet @7 :Bool = true;
    name @8 :Text = "nobody";
    inner @9 :Inner;
    several @10 :List(Inner);
    both :group {
      left @11 :UInt32;
      right @12 :Text;
      union {
        up @13 :UInt64 = 7;
        down @14 :List(Text);
      }
    }
  }
  spot :group {
    x @15 :Float32;
    y @16 :Float32 = 2;
    label @17 :Text;
  }
  voids @18 :List(Void);
  bools @19 :List(Bool);
  i8s @20 :List(Int8);
  i16s @21 :List(Int16);
  i32s @22 :List(Int32);
  i64s @23 :List(Int64);
  u8s @24 :List(UInt8);
  u16s @25 :List(UInt16);
  u32s @26 :List(UInt32);
  u64s @27 :List(UInt64);
  f32s @28 :List(Float32);
  f64s @29 :List(Float64);
  colours @30 :List(Colour);
  texts @31 :List(Text);
  datas @32 :List(Data);
  inners @33 :List(Inner);
  matrix @34 :List(List(Int32));
  words @35 :List(List(Text));
  nests @36 :List(List(Inner));
  hollow @37 :Hollow;
  hollows @38 :List(Hollow);
  tree @39 :List(Everything);

  struct Inner {
    id @0 :UInt64;
    title @1 :Text;
    maxSMCount @2 :UInt8;
  }
}

struct Hollow {
}

interface Driver {
  memAlloc @0 (bytes :UInt64, label :Text) -> (address :UInt64) $label("cuMemAlloc_v2");
  launch @1 Everything.Inner -> Hollow;
}
