import type { LookupAddress } from "node:dns";
import { lookup } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";
import { HttpFailure, type ConnectionGuard } from "@bunting/sync-client/http";
import { calledHost, isAllowed, type AllowedHost } from "./allowed-host.js";
import { addressBytes, embeddedV4 } from "./ip-address.js";
import { nameLookUps, type LookUpName } from "./name-look-ups.js";
import { hasAddress, type Network } from "./network.js";
import { calledIfListed, neverCalled } from "./special-networks.js";

export interface AddressGuardOptions {
  /** Whom this process may call. */
  readonly hosts: readonly AllowedHost[];
  /** The option that lists them, for messages. */
  readonly option: string;
  /** Networks of the cluster beside the private ones, such as Pods with public addresses. Like these they may be called only where they are listed. */
  readonly networks?: readonly Network[];
  /** Answers with all addresses of a name; default: the resolver of the system. */
  readonly resolve?: (name: string) => Promise<readonly LookupAddress[]>;
}

/**
 * Decides whom a privileged process may call for somebody who is not privileged: hosts of a list only, and those at public addresses, unless the list
 * names others for them. Names are resolved here, once for each connection, and the connection goes to what was checked: a name server that answers
 * differently the second time is not asked a second time.
 */
export class AddressGuard implements ConnectionGuard {
  readonly #hosts: readonly AllowedHost[];
  readonly #option: string;
  readonly #networks: readonly Network[];
  readonly #lookUp: LookUpName;

  constructor({ hosts, option, networks = [], resolve = resolveAll }: AddressGuardOptions) {
    this.#hosts = hosts;
    this.#option = option;
    this.#networks = networks;
    this.#lookUp = nameLookUps(resolve);
  }

  /** The same for calls of one owner, such as a namespace: the names of others, however slow they are, delay those of this one by one of them at most. */
  of(owner: string | undefined): ConnectionGuard {
    return { admit: (url) => this.admit(url, owner) };
  }

  /**
   * The look-up for a connection to the host of a URL.
   *
   * @throws HttpFailure host_refused or address_refused
   */
  admit(url: URL, owner?: string): LookupFunction {
    const allowed = this.#allowedFor(url);
    const { name } = calledHost(url);
    // A connection to an address looks nothing up.
    if (isIP(name) !== 0) this.#admitted(name, [{ address: name, family: isIP(name) }], allowed);
    return (hostname, { all, family }, callback) => {
      this.#addresses(hostname, allowed, owner).then(
        (addresses) => {
          const wanted = addresses.filter((one) => (family !== 4 && family !== 6) || one.family === family);
          const [first = addresses[0]] = wanted;
          if (all === true) callback(null, [...(wanted.length > 0 ? wanted : addresses)]);
          else callback(null, first?.address ?? "", first?.family ?? 4);
        },
        (error: unknown) => callback(error as NodeJS.ErrnoException, ""),
      );
    };
  }

  /**
   * The addresses that a connection to the host of a URL may go to; never empty. For clients that are given addresses instead of a name.
   *
   * @throws HttpFailure
   */
  async resolve(url: URL, owner?: string): Promise<readonly LookupAddress[]> {
    return this.#addresses(calledHost(url).name, this.#allowedFor(url), owner);
  }

  #allowedFor(url: URL): readonly AllowedHost[] {
    if (!/^https?:$/.test(url.protocol))
      throw new HttpFailure("host_refused", `${url.protocol} is not called: use https`);
    if (url.username !== "" || url.password !== "")
      throw new HttpFailure("host_refused", `the URL for ${url.host} has a user or a password: use a Secret`);
    const called = calledHost(url);
    const allowed = this.#hosts.filter((host) => isAllowed(called, host));
    if (allowed.length > 0) return allowed;
    const entry = `${called.isPlain ? "http://" : ""}${url.host}`;
    throw new HttpFailure(
      "host_refused",
      `${url.host} may not be called: ${entry} is not in ${this.#option}`,
    );
  }

  async #addresses(
    name: string,
    allowed: readonly AllowedHost[],
    owner: string | undefined,
  ): Promise<readonly LookupAddress[]> {
    if (isIP(name) !== 0) return this.#admitted(name, [{ address: name, family: isIP(name) }], allowed);
    let found: readonly LookupAddress[];
    try {
      found = await this.#lookUp(name, owner);
    } catch (cause) {
      throw new HttpFailure("unreachable", `${name} can't be resolved`, { cause });
    }
    if (found.length === 0) throw new HttpFailure("unreachable", `${name} has no address`);
    return this.#admitted(name, found, allowed);
  }

  /** Those that may be called. A name may have others beside them, which are left out. */
  #admitted(
    name: string,
    found: readonly LookupAddress[],
    allowed: readonly AllowedHost[],
  ): readonly LookupAddress[] {
    const networks = allowed.flatMap((host) => host.networks);
    const refusals = found.map(({ address }) => this.#refusalOf(address, networks));
    const admitted = found.filter((_address, index) => refusals[index] === undefined);
    if (admitted.length > 0) return admitted;
    // No address is named: whoever reads this may not be meant to learn addresses of the cluster.
    const what = refusals[0] ?? "unusable";
    throw new HttpFailure("address_refused", `${name} may not be called: its address is ${what}`);
  }

  #refusalOf(text: string, listed: readonly Network[]): string | undefined {
    const address = addressBytes(text);
    if (address === undefined) return "unusable";
    const never = neverCalled(address);
    if (never !== undefined) return never;
    const inner = embeddedV4(address);
    const isIn = (network: Network): boolean =>
      hasAddress(address, network) || (inner !== undefined && hasAddress(inner, network));
    if (listed.some(isIn)) return undefined;
    const what = calledIfListed(address) ?? (this.#networks.some(isIn) ? "of the cluster" : undefined);
    return what && `${what}, and ${this.#option} does not list its network for this host`;
  }
}

function resolveAll(name: string): Promise<readonly LookupAddress[]> {
  return lookup(name, { all: true, order: "verbatim" });
}
