import { isIP } from "node:net";
import type { RemoteFlagProvider } from "@bunting/featureflags/resources";
import { AddressGuard, parseAllowedHost } from "@bunting/outbound";
import type { FlagDocument } from "@bunting/protocol";
import { systemClock, type Clock } from "@bunting/runtime";
import { EventQueue } from "@bunting/test/support/event-queue.js";
import type { RemoteFailure, RemoteFlags, RemoteReading } from "./remote-kind.js";
import { remoteKinds } from "./remote-kinds.js";

/** What a remote was heard to say. */
export type Heard = RemoteFlags | { readonly failure: RemoteFailure };

export interface Listening {
  readonly provider: Partial<RemoteFlagProvider> & Pick<RemoteFlagProvider, "type" | "uri">;
  readonly hosts: readonly string[];
  /** Of whatever name is looked up; default: as the system resolves it. */
  readonly addresses?: readonly string[];
  readonly credential?: string;
  readonly ca?: string;
  readonly clock?: Clock;
  readonly maxBytes?: number;
  /** Free heap, in bytes; default: any. */
  readonly heapBytes?: () => number;
}

/** Reads a remote until it is stopped, and tells what it was told. */
export class RemoteListener {
  readonly heard = new EventQueue<Heard>();
  readonly #abort = new AbortController();
  readonly #ended: Promise<void>;

  constructor(listening: Listening) {
    const { provider, hosts, addresses, credential, ca, clock = systemClock } = listening;
    const { maxBytes = 100_000, heapBytes = () => Infinity } = listening;
    const room = { has: (bytes: number) => bytes <= heapBytes() };
    const found = addresses?.map((address) => ({ address, family: isIP(address) }));
    const guard = new AddressGuard({
      hosts: hosts.map(parseAllowedHost),
      option: "--remote-hosts",
      ...(found === undefined ? {} : { resolve: () => Promise.resolve(found) }),
    });
    const limits = { bytes: maxBytes, timeoutMs: 30_000 };
    const kind = remoteKinds({ guard, clock, limits, room, random: () => 0 }).get(provider.type);
    if (kind === undefined) throw new Error(`no kind ${provider.type}`);
    const reading: RemoteReading = {
      provider: { strategy: "merge", intervalMs: 20, allowEmpty: false, ...provider },
      ...(credential === undefined ? {} : { credential }),
      ...(ca === undefined ? {} : { ca }),
      onFlags: (flags) => this.heard.push(flags),
      onFailure: (failure) => this.heard.push({ failure }),
    };
    this.#ended = kind.run(reading, this.#abort.signal);
  }

  /** The next document whose flags have these keys. */
  async document(...keys: readonly string[]): Promise<FlagDocument> {
    const isIt = (heard: Heard): boolean =>
      "document" in heard && Object.keys(heard.document.flags).join() === keys.join();
    const heard = await this.heard.nextMatching(isIt, `a document of ${keys.join()}`);
    if (!("document" in heard)) throw new Error("it matched");
    return heard.document;
  }

  /** The next failure. */
  async failure(): Promise<RemoteFailure> {
    const heard = await this.heard.nextMatching((one) => "failure" in one, "a failure");
    if (!("failure" in heard)) throw new Error("it matched");
    return heard.failure;
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    await this.#ended;
  }
}
