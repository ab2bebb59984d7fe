import type { KubeObject } from "@bunting/kube";

export const secretType = { group: "", version: "v1", plural: "secrets" } as const;

/** A Secret's data: values in base64. */
export interface SecretObject extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

/** What a Secret in the operator's own namespace holds: a list, the oldest first, which the leader writes and every replica reads. */
export interface SecretContent<Item> {
  /** The Secret's name. */
  readonly name: string;
  /** For logs and errors: "the operator's authority". */
  readonly what: string;
  /**
   * Reads what a Secret holds: nothing, if it was made without data.
   *
   * @throws Error with the reason, if somebody else has written it
   */
  readonly read: (secret: SecretObject) => readonly Item[];
  /** The Secret's data for these. */
  readonly dataOf: (items: readonly Item[]) => Readonly<Record<string, string>>;
}

/** A list that a Secret has in JSON under a name; empty without it. */
export function storedList({ data = {} }: SecretObject, name: string): readonly unknown[] {
  const text = data[name];
  if (text === undefined) return [];
  const stored: unknown = JSON.parse(Buffer.from(text, "base64").toString("utf8"));
  if (!Array.isArray(stored)) throw new Error(`${name} is not a list`);
  return stored as readonly unknown[];
}

export function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
