/** What a TLS connection is made with. */
export interface TlsMaterial {
  /** Authorities to trust; absent: those of Node. */
  readonly ca?: string | Buffer;
  /** Our client certificate and its key. */
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  /** The name the certificate must bear, if not that of the URL. */
  readonly serverName?: string;
  /** True: whoever answers is believed (`insecure-skip-tls-verify`). */
  readonly isUnverified?: boolean;
}

/**
 * Where TLS material comes from. It is asked before every new connection, never for one that is open; as long as nothing has changed
 * it answers with the same object, so that the work of making a TLS context is done once.
 */
export interface TlsMaterialSource {
  /** @throws KubeError CONFIG_INVALID if it can't be had. */
  read(): Promise<TlsMaterial>;
}

/** Headers that say who we are. */
export type CredentialHeaders = Readonly<Record<string, string>>;

/** Where tokens come from. Asked before every request. */
export interface Credentials {
  /** @throws KubeError CONFIG_INVALID if there are none to be had. */
  headers(): Promise<CredentialHeaders>;
  /** To be called when the API server answered 401 to `refused`: reads anew at once, and resolves with true if there is something else to try. */
  renew(refused: CredentialHeaders): Promise<boolean>;
}

/** How one API server is reached, and as whom. */
export interface ClusterConfig {
  /** `https://10.0.0.1:443`, or `http://…`; a path is put before that of every request. */
  readonly server: URL;
  readonly tls: TlsMaterialSource;
  readonly credentials: Credentials;
  /** The namespace we run in, or that of the kubeconfig's context. */
  readonly namespace: string | undefined;
}
