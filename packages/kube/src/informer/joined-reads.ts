import type { KubeError } from "../kube-error.js";
import type { Epoch } from "../reflector/epochs.js";
import type { ConsistentRead, ReflectorHandler } from "../reflector/reflector-handler.js";
import type { ObjectEvent } from "../reflector/watch-event.js";
import type { KubeObject } from "../rest/resource.js";
import { keyOf } from "./object-store.js";

/** Hears whether a namespace can be read. */
export interface NamespaceNews {
  read(namespace: string): void;
  /** RBAC refuses it, as it does where there is no such namespace. It is tried again. */
  refused(namespace: string): void;
}

/** The read of all namespaces, until it is complete. */
interface FirstRead {
  /** Undefined until a namespace is read. */
  into?: ConsistentRead;
  /** Namespaces that were neither read nor refused. */
  readonly pending: Set<string>;
  /** Objects that the read was given of each namespace, by key. */
  readonly added: Map<string, Map<string, KubeObject>>;
  /** Where the last complete read of a namespace ended; undefined before that. */
  ended?: { readonly resourceVersion: string; readonly epoch: Epoch };
}

/** Somebody waits until each of the namespaces was read once more. */
interface Wait {
  readonly pending: Set<string>;
  readonly resolve: () => void;
}

/**
 * Joins the reads of several namespaces for one handler, which may take what its first read lacks for absent everywhere: the first one is complete with
 * the last of the namespaces, and later each is read by itself. A namespace that RBAC refuses is not waited for, unless all are.
 */
export class JoinedReads {
  readonly #namespaces: readonly string[];
  readonly #handler: ReflectorHandler;
  readonly #news: NamespaceNews;
  #first: FirstRead | "complete";
  readonly #waits = new Set<Wait>();

  constructor(namespaces: readonly string[], handler: ReflectorHandler, news: NamespaceNews) {
    this.#namespaces = namespaces;
    this.#handler = handler;
    this.#news = news;
    this.#first = { pending: new Set(namespaces), added: new Map() };
  }

  /** The handler of the watch of one of the namespaces. */
  handlerOf(namespace: string): Required<ReflectorHandler> {
    return {
      beginRead: () => this.#begin(namespace),
      event: (event, epoch) => this.#event(namespace, event, epoch),
      resumed: () => this.#handler.resumed?.(),
      interrupted: () => this.#handler.interrupted?.(),
      failed: (error) => this.#failed(namespace, error),
    };
  }

  /** Resolves when each namespace was read once more, or is refused, or the API server says that it has no such type. */
  nextReads(): Promise<void> {
    return new Promise((resolve) => this.#waits.add({ pending: new Set(this.#namespaces), resolve }));
  }

  #begin(namespace: string): ConsistentRead {
    if (this.#first !== "complete") return this.#beginPart(namespace, this.#first);
    const into = this.#handler.beginRead(namespace);
    return {
      add: (object, resourceVersion) => into.add(object, resourceVersion),
      remove: (object) => into.remove(object),
      complete: (resourceVersion, epoch) => {
        into.complete(resourceVersion, epoch);
        this.#ended(namespace);
        this.#news.read(namespace);
      },
    };
  }

  #beginPart(namespace: string, first: FirstRead): ConsistentRead {
    // One that was refused, or is read again, must not be left half read.
    first.pending.add(namespace);
    const { added } = first;
    const into = (first.into ??= this.#handler.beginRead());
    const known = added.get(namespace) ?? new Map<string, KubeObject>();
    added.set(namespace, known);
    /** What an earlier read has added that did not end. */
    const stale = new Map(known);
    return {
      add: (object, resourceVersion) => {
        const key = keyOf(object);
        stale.delete(key);
        known.set(key, nameOf(object));
        into.add(object, resourceVersion);
      },
      remove: (object) => into.remove(object),
      complete: (resourceVersion, epoch) => {
        for (const [key, object] of stale) {
          known.delete(key);
          into.remove(object);
        }
        first.ended = { resourceVersion, epoch };
        this.#settle(namespace, first);
        this.#ended(namespace);
        this.#news.read(namespace);
      },
    };
  }

  #event(namespace: string, event: ObjectEvent, epoch: Epoch): void {
    if (this.#first === "complete") {
      this.#handler.event(event, epoch);
      return;
    }
    const { into, added } = this.#first;
    const { type, object, resourceVersion } = event;
    if (type === "DELETED") {
      into?.remove(object);
      return;
    }
    added.get(namespace)?.set(keyOf(object), nameOf(object));
    into?.add(object, resourceVersion);
  }

  #failed(namespace: string, error: KubeError): void {
    if (error.code === "FORBIDDEN") {
      if (this.#first !== "complete") this.#settle(namespace, this.#first);
      this.#news.refused(namespace);
    } else this.#handler.failed?.(error);
    if (error.code === "FORBIDDEN" || error.code === "NOT_FOUND") this.#ended(namespace);
  }

  /** The first read does not wait for the namespace any more. */
  #settle(namespace: string, { into, pending, ended }: FirstRead): void {
    pending.delete(namespace);
    if (pending.size > 0 || ended === undefined) return;
    this.#first = "complete";
    into?.complete(ended.resourceVersion, ended.epoch);
  }

  #ended(namespace: string): void {
    for (const wait of this.#waits) {
      wait.pending.delete(namespace);
      if (wait.pending.size > 0) continue;
      this.#waits.delete(wait);
      wait.resolve();
    }
  }
}

function nameOf({ metadata: { namespace, name } }: KubeObject): KubeObject {
  return { metadata: { name, ...(namespace === undefined ? {} : { namespace }) } };
}
