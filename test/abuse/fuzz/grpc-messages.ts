import {
  createFileRegistry,
  fromBinary,
  ScalarType,
  type DescField,
  type DescMessage,
} from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { fileDescriptorSetBase64 } from "@bunting/protocol";
import type { Random } from "../../../bench/fixtures/random.js";

const registry = createFileRegistry(
  fromBinary(FileDescriptorSetSchema, Buffer.from(fileDescriptorSetBase64, "base64")),
);

export interface GrpcMethod {
  readonly path: string;
  readonly service: string;
  readonly input: DescMessage;
}

/** Every method of every service that the proxy or the agent has. */
export const grpcMethods: readonly GrpcMethod[] = [...registry]
  .filter((type) => type.kind === "service")
  .flatMap((service) =>
    service.methods.map(({ name, input }) => ({
      path: `/${service.typeName}/${name}`,
      service: service.typeName,
      input,
    })),
  );

export function messageType(name: string): DescMessage {
  const found = registry.getMessage(name);
  if (found === undefined) throw new Error(`there is no message ${name}`);
  return found;
}

/** What strings of a message may be, by the name of their field; any field may have one of `texts`. */
export interface Vocabulary {
  readonly texts: readonly string[];
  readonly bytes: readonly Uint8Array[];
  readonly byField?: Readonly<Record<string, readonly string[]>>;
}

const maxDepth = 6;

/** An encoded message with random fields: valid, whatever it may mean. */
export function randomMessage(random: Random, type: DescMessage, vocabulary: Vocabulary, depth = 0): Buffer {
  const writer = new BinaryWriter();
  const alternatives = new Map(type.oneofs.map((oneof) => [oneof.name, random.pick(oneof.fields)]));
  for (const field of type.fields) {
    if (field.oneof !== undefined && alternatives.get(field.oneof.name) !== field) continue;
    if (depth > maxDepth || random.chance(0.15)) continue;
    const isMany = field.fieldKind === "list" || field.fieldKind === "map";
    for (let left = isMany ? random.below(4) : 1; left > 0; left--) {
      writeField(writer, random, field, vocabulary, depth);
    }
  }
  return Buffer.from(writer.finish());
}

function writeField(
  writer: BinaryWriter,
  random: Random,
  field: DescField,
  vocabulary: Vocabulary,
  depth: number,
): void {
  switch (field.fieldKind) {
    case "message":
      writer.tag(field.number, WireType.LengthDelimited);
      writer.bytes(randomMessage(random, field.message, vocabulary, depth + 1));
      return;
    case "enum":
      writer.tag(field.number, WireType.Varint).uint32(random.below(field.enum.values.length + 2));
      return;
    case "scalar":
      writeScalar(writer, random, field.number, field.scalar, field.name, vocabulary);
      return;
    case "map": {
      const entry = new BinaryWriter();
      writeScalar(entry, random, 1, field.mapKey, "key", vocabulary);
      if (field.mapKind === "message") {
        entry.tag(2, WireType.LengthDelimited);
        entry.bytes(randomMessage(random, field.message, vocabulary, depth + 1));
      }
      writer.tag(field.number, WireType.LengthDelimited).bytes(entry.finish());
      return;
    }
    case "list":
      if (field.listKind === "message") {
        writer.tag(field.number, WireType.LengthDelimited);
        writer.bytes(randomMessage(random, field.message, vocabulary, depth + 1));
      } else if (field.listKind === "scalar")
        writeScalar(writer, random, field.number, field.scalar, field.name, vocabulary);
  }
}

function writeScalar(
  writer: BinaryWriter,
  random: Random,
  number: number,
  type: ScalarType,
  name: string,
  { texts, bytes, byField }: Vocabulary,
): void {
  switch (type) {
    case ScalarType.STRING:
      writer
        .tag(number, WireType.LengthDelimited)
        .string(random.pick(random.chance(0.8) ? (byField?.[name] ?? texts) : texts));
      return;
    case ScalarType.BYTES:
      writer.tag(number, WireType.LengthDelimited).bytes(random.pick(bytes));
      return;
    case ScalarType.DOUBLE:
      writer.tag(number, WireType.Bit64).double(random.pick([0, -1.5, NaN, Infinity, 2 ** 53, 1e308]));
      return;
    case ScalarType.BOOL:
      writer.tag(number, WireType.Varint).bool(random.chance(0.5));
      return;
    default:
      writer
        .tag(number, WireType.Varint)
        .uint64(random.pick(["0", "1", "2", "2147483648", "9007199254740993", "18446744073709551615"]));
  }
}
