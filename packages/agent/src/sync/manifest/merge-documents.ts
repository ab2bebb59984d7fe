import {
  canonicalJson,
  isJsonObject,
  type FlagDocument,
  type JsonObject,
  type JsonValue,
  type TopicKey,
} from "@bunting/protocol";

/**
 * Several documents as the JSON of one: a list of flags, each with the metadata of its document. Evaluators are called by their document as
 * well, since two may have one of the same name.
 */
export function mergeDocuments(
  documents: Iterable<readonly [topic: TopicKey, document: FlagDocument]>,
): string {
  const flags: JsonValue[] = [];
  const evaluators: [string, JsonValue][] = [];
  for (const [topic, { flags: own, metadata = {}, $evaluators = {} }] of documents) {
    const nameOf = (name: string): string => `${topic}/${name}`;
    for (const [name, evaluator] of Object.entries($evaluators))
      evaluators.push([nameOf(name), renamed(evaluator, $evaluators, nameOf)]);
    for (const [key, flag] of Object.entries(own))
      flags.push(
        isJsonObject(flag)
          ? { ...withMetadata(flag, metadata), ...withTargeting(flag, $evaluators, nameOf), key }
          : // No flag: the store says so of the one part that it then has.
            { key, variants: flag },
      );
  }
  const $evaluators = evaluators.length === 0 ? {} : { $evaluators: Object.fromEntries(evaluators) };
  return canonicalJson({ flags, ...$evaluators });
}

function withMetadata(flag: JsonObject, metadata: JsonObject): JsonObject {
  const own = flag["metadata"] ?? {};
  if (!isJsonObject(own) || Object.keys(metadata).length === 0) return flag;
  return { ...flag, metadata: { ...metadata, ...own } };
}

function withTargeting(
  flag: JsonObject,
  evaluators: JsonObject,
  nameOf: (name: string) => string,
): JsonObject {
  const { targeting } = flag;
  return targeting === undefined ? {} : { targeting: renamed(targeting, evaluators, nameOf) };
}

/** References to evaluators that are not there stay as they are. */
function renamed(value: JsonValue, evaluators: JsonObject, nameOf: (name: string) => string): JsonValue {
  if (Array.isArray(value))
    return (value as readonly JsonValue[]).map((item) => renamed(item, evaluators, nameOf));
  if (!isJsonObject(value)) return value;
  const { $ref } = value;
  if (typeof $ref === "string" && Object.keys(value).length === 1)
    return Object.hasOwn(evaluators, $ref) ? { $ref: nameOf($ref) } : value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, renamed(member, evaluators, nameOf)]),
  );
}
