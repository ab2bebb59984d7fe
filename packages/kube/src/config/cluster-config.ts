/** Certificates and settings of a TLS connection. */
export interface TlsMaterial {
  /** The authorities to trust; absent: Node's own. */
  readonly ca?: string | Buffer;
  /** Our client certificate and its key. */
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  /** The name that the certificate must have, if it is not the host of the URL. */
  readonly serverName?: string;
  /** True: the server's certificate is not verified (`insecure-skip-tls-verify`). */
  readonly isUnverified?: boolean;
}

/**
 * The source of TLS material, read before every new connection and never for an open one. It returns the same object
 * as long as nothing has changed, so that a TLS context is made only once.
 */
export interface TlsMaterialSource {
  /** @throws KubeError CONFIG_INVALID if it can't be read. */
  read(): Promise<TlsMaterial>;
}

/** Headers that authenticate us. */
export type CredentialHeaders = Readonly<Record<string, string>>;

/** The source of tokens, read before every request. */
export interface Credentials {
  /** @throws KubeError CONFIG_INVALID if there are none. */
  headers(): Promise<CredentialHeaders>;
  /** Reads the credentials again after the API server answered 401 to `refused`; resolves with true if they have changed. */
  renew(refused: CredentialHeaders): Promise<boolean>;
  /** Ends reads under way, so that the process can exit; nothing is read afterwards. */
  close?(): void;
}

/** What to add to answers of an API server that refuse a request, by their code: that depends on where the credentials come from. */
export type RefusedAdvice = Readonly<Record<"UNAUTHORIZED" | "FORBIDDEN", string>>;

/** The address of an API server, and the user. */
export interface ClusterConfig {
  /** `https://10.0.0.1:443`, or `http://…`; its path is a prefix of the path of every request. */
  readonly server: URL;
  readonly tls: TlsMaterialSource;
  readonly credentials: Credentials;
  readonly refusedAdvice?: RefusedAdvice;
}
