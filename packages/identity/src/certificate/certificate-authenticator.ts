import type { Caller, CallerCertificate } from "../authenticator.js";
import { IdentityError } from "../identity-error.js";
import { identityName, type Identity } from "../identity.js";
import type { UriTemplate } from "./uri-template.js";

/** Callers are the ServiceAccount that a URI of their connection's certificate names. Certificates without such a URI say nothing. */
export function certificateAuthenticator(template: UriTemplate): {
  identify(caller: Caller): Identity | undefined;
} {
  /** By connection: all its streams have the same identity. */
  const identities = new WeakMap<object, Identity>();
  return {
    identify({ certificate, connection }) {
      if (certificate === undefined) return undefined;
      const known = identities.get(connection);
      if (known !== undefined) return known;
      const identity = identityIn(certificate, template);
      if (identity !== undefined) identities.set(connection, identity);
      return identity;
    },
  };
}

function identityIn({ uriSans, validToMs }: CallerCertificate, template: UriTemplate): Identity | undefined {
  const named = uriSans.flatMap((uri) => template(uri) ?? []);
  const [first] = named;
  if (first === undefined) return undefined;
  const identity: Identity = { kind: "certificate", ...first, expiresAtMs: validToMs };
  if (named.some((each) => identityName({ ...identity, ...each }) !== identityName(identity)))
    throw new IdentityError("CERTIFICATE_SUBJECT", "the client's certificate names several ServiceAccounts");
  return identity;
}
