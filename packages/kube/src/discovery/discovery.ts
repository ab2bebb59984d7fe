import type { Clock } from "@bunting/runtime";
import type { ResourceType } from "../rest/resource.js";
import type { RestClient } from "../rest/rest-client.js";
import { unlessNotFound } from "../rest/unless-not-found.js";

export interface DiscoveryOptions {
  readonly client: Pick<RestClient, "raw">;
  readonly clock: Clock;
  /** TTL of an answer, because a CRD may be installed at any time. Default 60 s. */
  readonly ttlMs?: number;
}

/** The resources of one group and version: kinds by the plural names in URLs. */
type Served = ReadonlyMap<string, string>;

interface Cached {
  readonly served: Promise<Served>;
  readonly untilMs: number;
}

/** Asks an API server which resource types it serves. Failures are not remembered. */
export class Discovery {
  readonly #options: DiscoveryOptions;
  readonly #groups = new Map<string, Cached>();

  constructor(options: DiscoveryOptions) {
    this.#options = options;
  }

  /**
   * True if objects of the type can be read and written.
   *
   * @throws KubeError
   */
  async serves(type: ResourceType, signal: AbortSignal): Promise<boolean> {
    return (await this.kindOf(type, signal)) !== undefined;
  }

  /**
   * The kind of the type, such as Deployment; undefined if it is not served.
   *
   * @throws KubeError
   */
  async kindOf({ group, version, plural }: ResourceType, signal: AbortSignal): Promise<string | undefined> {
    const path = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
    return (await this.#servedAt(path, signal)).get(plural);
  }

  async #servedAt(path: string, signal: AbortSignal): Promise<Served> {
    const { clock, ttlMs = 60_000 } = this.#options;
    const cached = this.#groups.get(path);
    if (cached !== undefined && clock.monotonicMs() < cached.untilMs) return cached.served;
    const served = this.#read(path, signal);
    const entry = { served, untilMs: clock.monotonicMs() + ttlMs };
    this.#groups.set(path, entry);
    served.catch(() => {
      if (this.#groups.get(path) === entry) this.#groups.delete(path);
    });
    return served;
  }

  async #read(path: string, signal: AbortSignal): Promise<Served> {
    // Undefined if no resource of the group is served in this version.
    const list = (await unlessNotFound(this.#options.client.raw({ method: "GET", path }, signal))) as
      { readonly resources?: readonly { readonly name: string; readonly kind: string }[] } | undefined;
    return new Map((list?.resources ?? []).map(({ name, kind }) => [name, kind]));
  }
}
