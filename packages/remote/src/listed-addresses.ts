import { experimental } from "@grpc/grpc-js";
import { hostAndPort } from "@bunting/runtime";

const scheme = "bunting-addresses";

/**
 * A target for a channel to whichever of the addresses answers: each is tried when the one before has failed, or been silent for 250 ms. The targets of
 * grpc-js that list addresses are of one family.
 */
export function targetOf(addresses: readonly string[], port: number): string {
  return `${scheme}:${addresses.map((address) => hostAndPort(address, port)).join(",")}`;
}

class ListedAddresses implements experimental.Resolver {
  readonly #addresses: readonly string[];
  readonly #listener: experimental.ResolverListener;
  #isTold = false;

  constructor(target: experimental.GrpcUri, listener: experimental.ResolverListener) {
    this.#addresses = target.path.split(",");
    this.#listener = listener;
  }

  /** Tells them once: they do not change, and grpc-js would connect again without a pause. */
  updateResolution(): void {
    if (this.#isTold) return;
    this.#isTold = true;
    const endpoints = this.#addresses.map((text) => {
      const { host = "", port = 0 } = experimental.splitHostPort(text) ?? {};
      return { addresses: [{ host, port }] };
    });
    process.nextTick(() => {
      if (this.#isTold) this.#listener(experimental.statusOrFromValue(endpoints), {}, null, "");
    });
  }

  destroy(): void {
    this.#isTold = false;
  }

  static getDefaultAuthority({ path }: experimental.GrpcUri): string {
    return path.split(",", 1).join();
  }
}

experimental.registerResolver(scheme, ListedAddresses);
