import { createHash } from "node:crypto";
import { unlessNotFound, type KubeObject, type RestClient } from "@bunting/kube";
import { injectionNames, injectionType, type Injection } from "../../api/injection.js";
import type { StoredSpec } from "../../pod/injection-request.js";
import { fieldManager } from "../apply/managed-object.js";

export interface InjectionWriterOptions {
  readonly client: Pick<RestClient, "get" | "apply" | "delete">;
  /** The stored Injection as the watch has it, by `namespace/name`. */
  readonly live: (key: string) => KubeObject | undefined;
}

/** The last write under a name. */
interface Written {
  /** Of what was written, a character for each byte: hundreds of namespaces have 10 KB each. Empty if it was deleted. */
  readonly digest: string;
  readonly resourceVersion: string | undefined;
}

/** Writes the Injections of namespaces. */
export class InjectionWriter {
  readonly #options: InjectionWriterOptions;
  /** By namespace, by name. */
  readonly #written = new Map<string, Map<string, Written>>();
  /** By namespace, how many texts its Injections have. */
  readonly #texts = new Map<string, number>();

  constructor(options: InjectionWriterOptions) {
    this.#options = options;
  }

  /** Namespaces that it has written to. */
  get namespaces(): readonly string[] {
    return [...this.#written.keys()];
  }

  hasWritten(namespace: string): boolean {
    return this.#written.has(namespace);
  }

  isStored(namespace: string): boolean {
    return injectionNames.some((name) => this.#live(namespace, name) !== undefined);
  }

  /** True if it wrote the object as it is. */
  isWritten({ metadata: { namespace = "", name, resourceVersion } }: KubeObject): boolean {
    const written = this.#written.get(namespace)?.get(name);
    return written?.resourceVersion !== undefined && written.resourceVersion === resourceVersion;
  }

  forget(namespace: string): void {
    this.#written.delete(namespace);
    this.#texts.delete(namespace);
  }

  /**
   * The Injections that are stored.
   *
   * @throws KubeError
   */
  async read(namespace: string, signal: AbortSignal): Promise<readonly (KubeObject & StoredSpec)[]> {
    const { client } = this.#options;
    const names = injectionNames.filter((name) => this.#live(namespace, name) !== undefined);
    const read = names.map((name) =>
      unlessNotFound(client.get({ type: injectionType, namespace, name }, signal)),
    );
    return (await Promise.all(read)).flatMap((each) => (each === undefined ? [] : [each]));
  }

  /**
   * Has the namespace have these and no others. One that can't be written keeps no other from being written.
   *
   * @throws KubeError
   */
  async write(namespace: string, injections: readonly Injection[], signal: AbortSignal): Promise<void> {
    const texts = injections.reduce((sum, { spec }) => sum + textsIn(spec), 0);
    const isGrowing = texts > (this.#texts.get(namespace) ?? 0);
    // Texts that move are in two of them for a moment, not in none: with more of them they move to later ones.
    const names = isGrowing ? injectionNames.toReversed() : injectionNames;
    const errors: unknown[] = [];
    for (const name of names) {
      const injection = injections.find(({ metadata }) => metadata.name === name);
      await this.#write(namespace, name, injection, signal).catch((error: unknown) => errors.push(error));
    }
    if (errors.length > 0) throw errors[0];
    this.#texts.set(namespace, texts);
  }

  async #write(
    namespace: string,
    name: string,
    injection: Injection | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { client } = this.#options;
    const live = this.#live(namespace, name);
    const written = this.#written.get(namespace)?.get(name);
    const digest = injection === undefined ? "" : digestOf(injection);
    const isAsWritten =
      written?.digest === digest && written.resourceVersion === live?.metadata.resourceVersion;
    if (isAsWritten || (injection === undefined && live === undefined)) return;
    const scope = { type: injectionType, namespace, name };
    let resourceVersion: string | undefined;
    if (injection === undefined) {
      await unlessNotFound(client.delete(scope, signal));
    } else {
      const how = { fieldManager, force: true };
      ({ resourceVersion } = (await client.apply(scope, injection, how, signal)).metadata);
    }
    const ofNamespace = this.#written.get(namespace) ?? new Map<string, Written>();
    this.#written.set(namespace, ofNamespace.set(name, { digest, resourceVersion }));
  }

  #live(namespace: string, name: string): KubeObject | undefined {
    return this.#options.live(`${namespace}/${name}`);
  }
}

function digestOf(injection: Injection): string {
  return createHash("sha256").update(JSON.stringify(injection)).digest().toString("latin1");
}

function textsIn({ sources, inProcess = {} }: Injection["spec"]): number {
  return Object.keys(sources).length + Object.keys(inProcess).length;
}
