import { SetMultimap } from "@bunting/runtime";
import type { KubeObject } from "../rest/resource.js";

/** Computes, of an object, the values under which it is found: labels, owners, names it refers to. */
export type IndexFunction<Object extends KubeObject> = (object: Object) => readonly string[];

/** The key of an object in a store, and in a work queue: `namespace/name`, or `name` where it has no namespace. */
export function keyOf({ metadata: { namespace, name } }: { readonly metadata: ObjectName }): string {
  return namespace === undefined || namespace === "" ? name : `${namespace}/${name}`;
}

/** True if the key is of an object of the namespace; of any, if that is undefined. */
export function isKeyIn(key: string, namespace: string | undefined): boolean {
  return namespace === undefined || key.startsWith(`${namespace}/`);
}

interface ObjectName {
  readonly name: string;
  readonly namespace?: string | undefined;
}

/** Objects by key, and by as many indexes as their readers need. It is what client-go calls an Indexer. */
export class ObjectStore<Object extends KubeObject = KubeObject, Index extends string = never> {
  readonly #objects = new Map<string, Object>();
  readonly #indexes: ReadonlyMap<string, IndexEntry<Object>>;

  constructor(
    indexes: Readonly<Record<Index, IndexFunction<Object>>> = {} as Record<Index, IndexFunction<Object>>,
  ) {
    this.#indexes = new Map(
      Object.entries<IndexFunction<Object>>(indexes).map(([name, valuesOf]) => [
        name,
        { valuesOf, keys: new SetMultimap() },
      ]),
    );
  }

  get(key: string): Object | undefined {
    return this.#objects.get(key);
  }

  keys(): IterableIterator<string> {
    return this.#objects.keys();
  }

  list(): IterableIterator<Object> {
    return this.#objects.values();
  }

  /** The objects that an index has under a value, in no order. */
  by(index: Index, value: string): Object[] {
    const keys = this.#indexes.get(index)?.keys.get(value) ?? [];
    return Array.from(keys, (key) => this.#objects.get(key)).filter((object) => object !== undefined);
  }

  /** Puts the object in the place of one with the same key, which is returned. */
  set(object: Object): Object | undefined {
    const key = keyOf(object);
    const before = this.delete(key);
    this.#objects.set(key, object);
    for (const { valuesOf, keys } of this.#indexes.values()) {
      for (const value of valuesOf(object)) keys.add(value, key);
    }
    return before;
  }

  /** Removes the object of a key, and returns it. */
  delete(key: string): Object | undefined {
    const object = this.#objects.get(key);
    if (object === undefined) return undefined;
    this.#objects.delete(key);
    for (const { valuesOf, keys } of this.#indexes.values()) {
      for (const value of valuesOf(object)) keys.delete(value, key);
    }
    return object;
  }
}

interface IndexEntry<Object> {
  readonly valuesOf: (object: Object) => readonly string[];
  readonly keys: SetMultimap<string, string>;
}
