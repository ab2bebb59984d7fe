import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";

/** Field numbers of the messages of google/protobuf/descriptor.proto that are read here. */
const fileSet = { file: 1 };
const file = { name: 1, package: 2, dependency: 3, message: 4, enum: 5, service: 6 };
const message = { name: 1, nestedMessage: 3, nestedEnum: 4 };
const service = { name: 1, method: 2 };
/** Only the name of an enum or method is read. */
const onlyName = { name: 1 };

interface DescribedFile {
  readonly bytes: Buffer;
  readonly dependencies: readonly string[];
}

/** Finds files in a FileDescriptorSet for server reflection; it decodes only names. */
export class DescriptorIndex {
  readonly #files = new Map<string, DescribedFile>();
  /** From the full name of a message, enum, service or method to the file that defines it. */
  readonly #fileOfSymbol = new Map<string, string>();
  readonly #messages = new Set<string>();

  constructor(fileDescriptorSet: Uint8Array) {
    for (const bytes of fieldsOf(fileDescriptorSet).get(fileSet.file) ?? []) this.#addFile(bytes);
  }

  /** The file and all it imports, itself first; undefined if there is no such file. */
  fileByName(name: string): Buffer[] | undefined {
    if (!this.#files.has(name)) return undefined;
    // A Set also iterates over what is added during the iteration.
    const names = new Set([name]);
    const found: Buffer[] = [];
    for (const each of names) {
      const described = this.#files.get(each);
      if (described === undefined) continue;
      found.push(described.bytes);
      for (const dependency of described.dependencies) names.add(dependency);
    }
    return found;
  }

  fileBySymbol(symbol: string): Buffer[] | undefined {
    const name = this.#fileOfSymbol.get(symbol);
    return name === undefined ? undefined : this.fileByName(name);
  }

  hasMessage(name: string): boolean {
    return this.#messages.has(name);
  }

  #addFile(bytes: Uint8Array): void {
    const fields = fieldsOf(bytes);
    const name = textOf(fields, file.name);
    const scope = textOf(fields, file.package);
    const dependencies = (fields.get(file.dependency) ?? []).map(asText);
    this.#files.set(name, { bytes: Buffer.from(bytes), dependencies });
    for (const each of fields.get(file.message) ?? []) this.#addMessage(each, scope, name);
    for (const each of fields.get(file.enum) ?? [])
      this.#addSymbol(scope, fieldsOf(each), onlyName.name, name);
    for (const each of fields.get(file.service) ?? []) {
      const inner = fieldsOf(each);
      const serviceName = this.#addSymbol(scope, inner, service.name, name);
      for (const method of inner.get(service.method) ?? [])
        this.#addSymbol(serviceName, fieldsOf(method), onlyName.name, name);
    }
  }

  #addMessage(bytes: Uint8Array, scope: string, fileName: string): void {
    const fields = fieldsOf(bytes);
    const name = this.#addSymbol(scope, fields, message.name, fileName);
    this.#messages.add(name);
    for (const nested of fields.get(message.nestedMessage) ?? []) this.#addMessage(nested, name, fileName);
    for (const nested of fields.get(message.nestedEnum) ?? [])
      this.#addSymbol(name, fieldsOf(nested), onlyName.name, fileName);
  }

  #addSymbol(scope: string, fields: Fields, nameField: number, fileName: string): string {
    const name = textOf(fields, nameField);
    const symbol = scope === "" ? name : `${scope}.${name}`;
    this.#fileOfSymbol.set(symbol, fileName);
    return symbol;
  }
}

/** The length-delimited fields of a message by number: names and messages are all that is needed. */
type Fields = ReadonlyMap<number, readonly Uint8Array[]>;

function fieldsOf(bytes: Uint8Array): Fields {
  const fields = new Map<number, Uint8Array[]>();
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    if (wireType !== WireType.LengthDelimited) {
      reader.skip(wireType, number);
      continue;
    }
    const values = fields.get(number);
    if (values === undefined) fields.set(number, [reader.bytes()]);
    else values.push(reader.bytes());
  }
  return fields;
}

function textOf(fields: Fields, number: number): string {
  const value = fields.get(number)?.at(-1);
  return value === undefined ? "" : asText(value);
}

function asText(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
}
