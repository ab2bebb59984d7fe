import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  sign,
  X509Certificate,
  type KeyObject,
} from "node:crypto";
import { contextTag, der, derTag, derTime, objectIdentifier } from "./der.js";

/** A certificate and its private key (PKCS #8), both in PEM. */
export interface IssuedPair {
  readonly cert: string;
  readonly key: string;
}

/** In milliseconds since 1970. */
export interface Validity {
  readonly fromMs: number;
  readonly toMs: number;
}

/** What is certified, and by whom. */
interface Certification {
  readonly subject: string;
  readonly publicKey: KeyObject;
  readonly issuer: { readonly name: string; readonly key: KeyObject };
  readonly validity: Validity;
  readonly extensions: readonly Buffer[];
}

const oid = {
  commonName: objectIdentifier("2.5.4.3"),
  ecdsaWithSha256: objectIdentifier("1.2.840.10045.4.3.2"),
  serverAuth: objectIdentifier("1.3.6.1.5.5.7.3.1"),
  subjectKeyIdentifier: objectIdentifier("2.5.29.14"),
  keyUsage: objectIdentifier("2.5.29.15"),
  subjectAltName: objectIdentifier("2.5.29.17"),
  basicConstraints: objectIdentifier("2.5.29.19"),
  authorityKeyIdentifier: objectIdentifier("2.5.29.35"),
  extendedKeyUsage: objectIdentifier("2.5.29.37"),
};
const isTrue = der(derTag.boolean, Buffer.of(0xff));
/** No authority below this one. */
const noPathLength = der(derTag.integer, Buffer.of(0));
/** Bits from the left: digitalSignature is the first, keyCertSign and cRLSign the sixth and seventh. The first byte counts unused bits. */
const usage = { digitalSignature: Buffer.of(7, 0x80), certSigning: Buffer.of(1, 0x06) };

/** Makes an authority with a key of its own, which certifies servers and nothing else. */
export function createAuthority(validity: Validity): IssuedPair {
  const { privateKey, publicKey } = newKeys();
  // Two authorities are in a bundle while one follows the other: their names must differ.
  const name = `bunting-operator ${randomBytes(4).toString("hex")}`;
  const cert = certify({
    subject: name,
    publicKey,
    issuer: { name, key: privateKey },
    validity,
    extensions: [
      extension(oid.basicConstraints, der(derTag.sequence, isTrue, noPathLength), true),
      extension(oid.keyUsage, der(derTag.bitString, usage.certSigning), true),
    ],
  });
  return { cert, key: pemOf(privateKey) };
}

/** Makes a certificate of a server for these DNS names, with a key of its own. It does not outlive its authority. */
export function issueLeaf(authority: IssuedPair, names: readonly string[], validity: Validity): IssuedPair {
  const { privateKey, publicKey } = newKeys();
  const issuer = new X509Certificate(authority.cert);
  const dnsNames = names.map((name) => der(contextTag(2), Buffer.from(name, "latin1")));
  const cert = certify({
    subject: "bunting-operator",
    publicKey,
    issuer: { name: commonNameOf(issuer), key: createPrivateKey(authority.key) },
    validity: { fromMs: validity.fromMs, toMs: Math.min(validity.toMs, Date.parse(issuer.validTo)) },
    extensions: [
      extension(oid.basicConstraints, der(derTag.sequence), true),
      extension(oid.keyUsage, der(derTag.bitString, usage.digitalSignature), true),
      extension(oid.extendedKeyUsage, der(derTag.sequence, oid.serverAuth)),
      extension(oid.subjectAltName, der(derTag.sequence, ...dnsNames)),
    ],
  });
  return { cert, key: pemOf(privateKey) };
}

function newKeys(): { readonly privateKey: KeyObject; readonly publicKey: KeyObject } {
  return generateKeyPairSync("ec", { namedCurve: "P-256" });
}

function pemOf(key: KeyObject): string {
  return key.export({ type: "pkcs8", format: "pem" }) as string;
}

function certify({ subject, publicKey, issuer, validity, extensions }: Certification): string {
  const algorithm = der(derTag.sequence, oid.ecdsaWithSha256);
  const version3 = der(contextTag(0, true), der(derTag.integer, Buffer.of(2)));
  // Neither negative nor with a zero in front: the first byte is from 0x40 to 0x7f.
  const serial = randomBytes(16);
  serial[0] = 0x40 | ((serial[0] ?? 0) & 0x3f);
  const issuerKeyId = der(contextTag(0), keyIdOf(createPublicKey(issuer.key)));
  const keyIds = [
    extension(oid.subjectKeyIdentifier, der(derTag.octetString, keyIdOf(publicKey))),
    extension(oid.authorityKeyIdentifier, der(derTag.sequence, issuerKeyId)),
  ];
  const toBeSigned = der(
    derTag.sequence,
    version3,
    der(derTag.integer, serial),
    algorithm,
    nameOf(issuer.name),
    der(derTag.sequence, derTime(validity.fromMs), derTime(validity.toMs)),
    nameOf(subject),
    publicKey.export({ type: "spki", format: "der" }),
    der(contextTag(3, true), der(derTag.sequence, ...extensions, ...keyIds)),
  );
  const signature = sign("sha256", toBeSigned, issuer.key);
  // A bit string begins with the number of unused bits.
  const signed = der(derTag.sequence, toBeSigned, algorithm, der(derTag.bitString, Buffer.of(0), signature));
  return new X509Certificate(signed).toString();
}

function nameOf(commonName: string): Buffer {
  const attribute = der(derTag.sequence, oid.commonName, der(derTag.utf8String, Buffer.from(commonName)));
  return der(derTag.sequence, der(derTag.set, attribute));
}

/** Of a certificate that `createAuthority` made: its subject has nothing else. */
function commonNameOf({ subject }: X509Certificate): string {
  return subject.replace(/^CN=/, "");
}

function extension(id: Buffer, value: Buffer, isCritical = false): Buffer {
  return der(derTag.sequence, id, ...(isCritical ? [isTrue] : []), der(derTag.octetString, value));
}

/** Any function of the key will do (RFC 5280, 4.2.1.2), as long as it differs from key to key. */
function keyIdOf(publicKey: KeyObject): Buffer {
  const bytes = publicKey.export({ type: "spki", format: "der" });
  return createHash("sha256").update(bytes).digest().subarray(0, 20);
}
