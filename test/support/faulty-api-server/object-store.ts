import { nextObject, toJson, tombstone, type FlagObject, type PutOptions } from "./flag-object.js";

export type EventType = "ADDED" | "MODIFIED" | "DELETED";

/** One change, as etcd remembers it. */
export interface StoreEvent {
  readonly type: EventType;
  readonly revision: number;
  readonly stored: StoredObject;
  readonly previous: StoredObject | undefined;
}

export interface StoredObject {
  readonly namespace: string;
  readonly name: string;
  readonly value: FlagObject;
  /** `value` as it goes over the wire. */
  readonly json: string;
}

/** The objects that a list or watch selects. */
export interface Selection {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  /** A namespace the fieldSelector names besides that of the path. */
  readonly fieldNamespace?: string | undefined;
}

/** What an etcd snapshot holds; `restore` goes back to it. */
export interface Backup {
  readonly revision: number;
  readonly objects: ReadonlyMap<string, StoredObject>;
}

export function selects(selection: Selection, object: { namespace: string; name: string }): boolean {
  return (
    (selection.namespace === undefined || selection.namespace === object.namespace) &&
    (selection.fieldNamespace === undefined || selection.fieldNamespace === object.namespace) &&
    (selection.name === undefined || selection.name === object.name)
  );
}

/**
 * The objects, the revision counter that all of them share, and the history that watches can resume from. `onEvent` is called in the same
 * turn in which a change is made, so that reads and events never disagree.
 */
export class ObjectStore {
  readonly #objects = new Map<string, StoredObject>();
  readonly #onEvent: (event: StoreEvent) => void;
  #history: StoreEvent[] = [];
  #revision = 1;
  #compacted = 1;

  constructor(onEvent: (event: StoreEvent) => void) {
    this.#onEvent = onEvent;
  }

  get revision(): number {
    return this.#revision;
  }

  /** Events up to and including this revision are forgotten. */
  get compactedRevision(): number {
    return this.#compacted;
  }

  put(namespace: string, name: string, spec: unknown, options: PutOptions): FlagObject {
    const previous = this.#objects.get(`${namespace}/${name}`);
    const identity = { namespace, name, resourceVersion: this.#revision + 1 };
    const value = nextObject(previous?.value, identity, spec, options);
    if (value === previous?.value) return value;
    this.#commit(previous === undefined ? "ADDED" : "MODIFIED", value, previous);
    return value;
  }

  delete(namespace: string, name: string): FlagObject | undefined {
    const previous = this.#objects.get(`${namespace}/${name}`);
    if (previous === undefined) return undefined;
    const value = tombstone(previous.value, this.#revision + 1);
    this.#commit("DELETED", value, previous);
    return value;
  }

  /** Counts writes of other resources, which share the counter. */
  advance(by: number): void {
    this.#revision += by;
  }

  compact(upTo = this.#revision): void {
    this.#compacted = Math.max(this.#compacted, upTo);
    this.#history = this.#history.filter((event) => event.revision > this.#compacted);
  }

  /** In the order of keys, as etcd lists them. */
  list(selection: Selection, atRevision = this.#revision): readonly StoredObject[] {
    return [...this.#at(atRevision)]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, object]) => object)
      .filter((object) => selects(selection, object));
  }

  since(revision: number): readonly StoreEvent[] {
    return this.#history.filter((event) => event.revision > revision);
  }

  backup(): Backup {
    return { revision: this.#revision, objects: new Map(this.#objects) };
  }

  /** Restores etcd from a snapshot, or makes it empty: the counter goes back, without any event. */
  restore(backup: Backup): void {
    this.#objects.clear();
    for (const [key, object] of backup.objects) this.#objects.set(key, object);
    this.#history = [];
    this.#revision = backup.revision;
    this.#compacted = backup.revision;
  }

  #commit(type: EventType, value: FlagObject, previous: StoredObject | undefined): void {
    const { namespace, name } = value.metadata;
    const stored = { namespace, name, value, json: toJson(value) };
    this.#revision += 1;
    if (type === "DELETED") this.#objects.delete(`${namespace}/${name}`);
    else this.#objects.set(`${namespace}/${name}`, stored);
    const event = { type, revision: this.#revision, stored, previous };
    this.#history.push(event);
    this.#onEvent(event);
  }

  /** The state at that revision: undoes history, backwards from now. */
  #at(revision: number): ReadonlyMap<string, StoredObject> {
    if (revision >= this.#revision) return this.#objects;
    const objects = new Map(this.#objects);
    for (const { stored, previous, revision: made } of [...this.#history].reverse()) {
      if (made <= revision) break;
      const key = `${stored.namespace}/${stored.name}`;
      if (previous === undefined) objects.delete(key);
      else objects.set(key, previous);
    }
    return objects;
  }
}
