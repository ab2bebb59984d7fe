/** Certificates and settings of a TLS connection. */
export interface TlsMaterial {
  /** The authorities to trust; absent: those of Node. */
  readonly ca?: string | Buffer;
  /** Our client certificate and its key. */
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  /** The name that the certificate must have, if not that of the URL. */
  readonly serverName?: string;
  /** True: the server's certificate is not verified (`insecure-skip-tls-verify`). */
  readonly isUnverified?: boolean;
}

/**
 * Where TLS material comes from. It is read before every new connection, never for one that is open. As long as nothing has changed it
 * returns the same object, so that a TLS context is made only once.
 */
export interface TlsMaterialSource {
  /** @throws KubeError CONFIG_INVALID if it can't be read. */
  read(): Promise<TlsMaterial>;
}

/** Headers that authenticate us. */
export type CredentialHeaders = Readonly<Record<string, string>>;

/** Where tokens come from. Read before every request. */
export interface Credentials {
  /** @throws KubeError CONFIG_INVALID if there are none. */
  headers(): Promise<CredentialHeaders>;
  /** To be called when the API server answered 401 to `refused`: reads them again at once, and resolves with true if they have changed. */
  renew(refused: CredentialHeaders): Promise<boolean>;
  /** Ends what is being read, so that the process can exit; nothing is read any more. */
  close?(): void;
}

/** How to reach one API server, and as which user. */
export interface ClusterConfig {
  /** `https://10.0.0.1:443`, or `http://…`; its path is a prefix of the path of every request. */
  readonly server: URL;
  readonly tls: TlsMaterialSource;
  readonly credentials: Credentials;
  /** The namespace we run in, or that of the kubeconfig's context. */
  readonly namespace: string | undefined;
}
