import { isJsonObject, type JsonValue } from "@bunting/protocol";

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** A value with sorted keys, without undefined members and the sign of zero, and without the id that flagd makes up for "no flag set". */
export function canonicalValue(value: unknown): JsonValue {
  if (Array.isArray(value)) return value.map(canonicalValue);
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  if (value === 0) return 0;
  if (typeof value !== "object" || value === null) return value as JsonValue;
  const members = Object.entries(value)
    .filter(([key, member]) => member !== undefined && !isMadeUp(key, member))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => [key, canonicalValue(member)] as const);
  return Object.fromEntries(members);
}

function isMadeUp(key: string, value: unknown): boolean {
  return key === "flagSetId" && typeof value === "string" && uuid.test(value);
}

/** Texts that clients may depend on; the wording of all others is "*". */
const contract = [
  /^(Flag not found|Type mismatch error|Error parsing input or configuration|General error|Flag is disabled)$/,
  /^(Provider context is not valid|metadata endpoint disabled|request body too large|unknown service)$/,
  /^(stream closed due to server-side timeout|error processing the flag for evaluation)$/,
  /^invalid selector/,
  /^flag `[^]*` does not exist$/,
  /^error parsing the flag `[^]*`$/,
];

export function wordingOf(text: string): string {
  return text === "" || contract.some((pattern) => pattern.test(text)) ? text : "*";
}

/** The body of an answer, with the wording of its errors normalised. */
export function withoutWording(body: JsonValue): JsonValue {
  if (!isJsonObject(body)) return body;
  const isError = typeof body["code"] === "string";
  return canonicalValue(
    Object.fromEntries(
      Object.entries(body).map(([key, member]): [string, JsonValue] => {
        if (typeof member === "string" && (key === "errorDetails" || (isError && key === "message")))
          return [key, wordingOf(member)];
        if (isError && key === "details") return [key, "*"];
        if (key === "error") return [key, withoutWording(member)];
        if (key === "flags" && Array.isArray(member)) return [key, member.map(withoutWording)];
        return [key, member];
      }),
    ),
  );
}
