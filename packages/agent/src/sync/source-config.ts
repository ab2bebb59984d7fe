import type { RemoteFlagProvider } from "@bunting/featureflags/resources";
import type { AllowedHost } from "@bunting/outbound/hosts";
import type { TokenBinding } from "@bunting/sync-client";
import type { OauthConfig } from "@bunting/sync-client/http";

/** One source of flags, checked and complete. */
export type SourceConfig =
  | GrpcSourceConfig
  | FileSourceConfig
  | HttpSourceConfig
  | KubernetesSourceConfig
  | RemoteSourceConfig
  | UnsupportedSourceConfig;

interface CommonConfig {
  /** The source's place in the list, which identifies it in memory: several sources may have the same URI. */
  readonly sourceIndex: number;
  /** The name that flagd gives the source: the URI without the prefix of its kind. Flags have it as their `source`. */
  readonly uri: string;
  /** Which flags of the source are wanted, in the source's own syntax; "" for all. */
  readonly selector: string;
}

/** Of a source that is asked over the network. */
interface CalledConfig extends CommonConfig {
  /** The certificates of the authorities to trust; "" for those of Node. */
  readonly certPath: string;
  /** A file with the token that each stream or request carries as `authorization: Bearer`; "" for none. */
  readonly tokenFile: string;
  /** Undefined if the token may go wherever the source says. */
  readonly tokenBinding: TokenBinding | undefined;
}

/** A stream of flagd.sync.v1: our proxy, a stock flagd-proxy, or a flagd. */
export interface GrpcSourceConfig extends CalledConfig {
  readonly provider: "grpc";
  /** What grpc-js connects to. */
  readonly target: string;
  /** `:authority` of requests, if it is not the host. */
  readonly authority: string | undefined;
  readonly isTls: boolean;
  /** The certificate that the agent presents, and its private key; "" for none. */
  readonly clientCertPath: string;
  readonly clientKeyPath: string;
  readonly providerId: string;
  /** Sent with the request, by lower-case name; `authorization` among them if it is fixed. */
  readonly headers: Readonly<Record<string, string>>;
  /** Largest message in bytes; undefined means the limit of the heap budget. */
  readonly maxMessageBytes: number | undefined;
  /** A document replaces only the flag set it names; see replaceFlagSets. */
  readonly isIncremental: boolean;
}

/** A flag document on disk or FeatureFlag manifests, JSON or YAML; or all such files below a directory. */
export interface FileSourceConfig extends CommonConfig {
  readonly provider: "file" | "dir";
  readonly path: string;
}

/** A flag document, JSON or YAML, that is fetched from an HTTP server again and again. */
export interface HttpSourceConfig extends CalledConfig {
  readonly provider: "http";
  /** `uri` with user and password, if it names them. */
  readonly url: string;
  /** Sent with the request, by lower-case name; `authorization` among them if it is fixed. */
  readonly headers: Readonly<Record<string, string>>;
  readonly intervalMs: number;
  /** Moves the polls within the interval, so that agents with different seeds poll at different times; "" for none. */
  readonly intervalSeed: string;
  /** Time for a request, redirects and body included. */
  readonly timeoutMs: number;
  readonly oauth: OauthConfig | undefined;
}

/** A FeatureFlag of the cluster that the agent's Pod runs in. */
export interface KubernetesSourceConfig extends CommonConfig {
  readonly provider: "kubernetes";
  readonly namespace: string;
  readonly name: string;
}

/** A file with flags, and a remote whose flags are merged with them, as those of a FeatureFlag's remote flag provider are by a proxy. */
export interface RemoteSourceConfig extends CalledConfig {
  readonly provider: "remote";
  /** Of the file. */
  readonly path: string;
  readonly remote: RemoteFlagProvider;
  /** Hosts that may be called: the values of `--remote-hosts`. */
  readonly hosts: readonly AllowedHost[];
}

/** A source of a kind that flagd has and this agent has not. */
export interface UnsupportedSourceConfig extends CommonConfig {
  readonly provider: "unsupported";
  /** What is not supported, and what to use instead. */
  readonly problem: string;
}
