import { canonicalJson, type JsonObject } from "@bunting/protocol";
import { encodeStruct } from "./codec/struct-writer.js";

/**
 * An immutable JSON object with its encodings, each made on first use and kept: evaluations share their metadata and object values, and
 * encoding these each time would cost more than evaluating.
 */
export class EncodedObject {
  readonly object: JsonObject;
  #json: string | undefined;
  #struct: Uint8Array | undefined;

  constructor(object: JsonObject) {
    this.object = object;
  }

  /** JSON with sorted keys, as Go writes maps. */
  get json(): string {
    return (this.#json ??= canonicalJson(this.object));
  }

  /** The fields of a google.protobuf.Struct, without a length prefix: not in node's pool, whose slab each would keep as long as it lives. */
  get struct(): Uint8Array {
    return (this.#struct ??= new Uint8Array(encodeStruct(this.object)));
  }
}

const kept = new WeakMap<JsonObject, EncodedObject>();

/** The encodings of an immutable object, such as the value of a variant; kept as long as the object lives. */
export function encodedOnce(object: JsonObject): EncodedObject {
  let encoded = kept.get(object);
  if (encoded === undefined) kept.set(object, (encoded = new EncodedObject(object)));
  return encoded;
}
