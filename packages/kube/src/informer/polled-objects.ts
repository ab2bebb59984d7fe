import { Backoff, startSleep, type Context, type Runnable } from "@bunting/runtime";
import { KubeError } from "../kube-error.js";
import type { Epoch } from "../reflector/epochs.js";
import type { KubeObject, ResourceScope } from "../rest/resource.js";
import type { RestClient } from "../rest/rest-client.js";
import { Informer, type InformerOptions } from "./informer.js";

export interface PolledObjectsOptions {
  readonly client: Pick<RestClient, "get">;
  readonly scope: Omit<ResourceScope, "name">;
  /** The only objects that are read. */
  readonly names: readonly string[];
  /** Time between two reads, in ms. */
  readonly everyMs: number;
  readonly epoch: () => Epoch;
  readonly context: Pick<Context, "clock">;
}

/**
 * Keeps an informer up to date with objects that may be read one by one and not watched: a Role lets its subjects get the Namespace that it is in, and no
 * Role lets anybody watch one. What RBAC refuses counts as absent, since it refuses what is in a namespace that does not exist.
 */
export class PolledObjects<Object extends KubeObject> implements Runnable {
  readonly name: string;
  readonly informer: Informer<Object>;
  readonly #options: PolledObjectsOptions;
  readonly #backoff = new Backoff({ firstMs: 800, capMs: 30_000 });
  #isReading = false;
  #isAsked = false;
  #wake: () => void = () => undefined;

  constructor(options: PolledObjectsOptions, informed: InformerOptions<Object, never>) {
    this.name = `reads of ${options.scope.type.plural}`;
    this.#options = options;
    this.informer = new Informer(informed);
  }

  /** Reads everything again. Resolves with the end of that read. */
  async readAgain(): Promise<void> {
    // A read that is under way may have begun before this call.
    if (this.#isReading) await this.informer.nextRead();
    const read = this.informer.nextRead();
    this.#isAsked = true;
    this.#wake();
    await read;
  }

  /** To be called when the object may be there, although the last read has not found it: then it is looked for at once. */
  lookFor(name: string): void {
    if (!this.informer.hasSynced || this.informer.store.get(name) !== undefined) return;
    this.#isAsked = true;
    this.#wake();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { everyMs, context } = this.#options;
    while (!signal.aborted) {
      this.#takeRequest();
      const isRead = await this.#read(signal);
      if (this.#takeRequest()) continue;
      const { ended, wake } = startSleep(isRead ? everyMs : this.#backoff.next(), signal, context.clock);
      this.#wake = wake;
      await ended;
    }
  }

  /** True if a read was asked for since the last call. */
  #takeRequest(): boolean {
    const isAsked = this.#isAsked;
    this.#isAsked = false;
    return isAsked;
  }

  /** Resolves with false if it has to be tried again. */
  async #read(signal: AbortSignal): Promise<boolean> {
    const { client, scope, names, epoch } = this.#options;
    this.#isReading = true;
    const read = this.informer.beginRead();
    try {
      for (const name of names) {
        const object = await unlessAbsent(client.get({ ...scope, name }, signal));
        if (object !== undefined) read.add(object, object.metadata.resourceVersion ?? "");
      }
      // Reads have no version in common, and events, which would be compared with it, do not come.
      read.complete("", epoch());
      this.#backoff.reset();
      return true;
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      return false;
    } finally {
      this.#isReading = false;
    }
  }
}

async function unlessAbsent(call: Promise<KubeObject>): Promise<KubeObject | undefined> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof KubeError && (error.code === "NOT_FOUND" || error.code === "FORBIDDEN"))
      return undefined;
    throw error;
  }
}
