import type { Authenticator, Caller, CallerCertificate } from "../authenticator.js";
import { IdentityError } from "../identity-error.js";
import { identityName, type Identity } from "../identity.js";
import type { UriTemplate } from "./uri-template.js";

/** Callers are the ServiceAccount that a URI of their connection's certificate names. Certificates without such a URI say nothing. */
export class CertificateAuthenticator implements Authenticator {
  readonly #template: UriTemplate;
  /** By connection: all its streams have the same identity. */
  readonly #identities = new WeakMap<object, Identity>();

  constructor(template: UriTemplate) {
    this.#template = template;
  }

  identify({ certificate, connection }: Caller): Identity | undefined {
    if (certificate === undefined) return undefined;
    const known = this.#identities.get(connection);
    if (known !== undefined) return known;
    const identity = this.#read(certificate);
    if (identity !== undefined) this.#identities.set(connection, identity);
    return identity;
  }

  #read({ uriSans, validToMs }: CallerCertificate): Identity | undefined {
    const named = uriSans.flatMap((uri) => this.#template(uri) ?? []);
    const [first] = named;
    if (first === undefined) return undefined;
    const identity: Identity = { kind: "certificate", ...first, expiresAtMs: validToMs };
    if (named.some((each) => identityName({ ...identity, ...each }) !== identityName(identity)))
      throw new IdentityError(
        "CERTIFICATE_SUBJECT",
        "the client's certificate names several ServiceAccounts",
      );
    return identity;
  }
}
