import {
  createHash,
  generateKeyPairSync,
  randomBytes,
  sign,
  X509Certificate,
  type KeyObject,
} from "node:crypto";
import { isIP } from "node:net";

/** In PEM. */
export interface CertificatePair {
  readonly cert: string;
  readonly key: string;
}

export interface CertificateWishes {
  readonly commonName?: string;
  /** DNS names and addresses; default: those of this machine. */
  readonly domains?: readonly string[];
  readonly uris?: readonly string[];
  /** In milliseconds since 1970; default: an hour ago. */
  readonly validFromMs?: number;
  /** Default: in two days. */
  readonly validToMs?: number;
  /** Default: P-256. */
  readonly key?: "P-256" | "RSA-2048";
}

const hourMs = 3_600_000;
const [integerTag, bitStringTag, octetStringTag, utf8Tag, sequenceTag, setTag] = [2, 3, 4, 12, 0x30, 0x31];
const oids = {
  ecdsaWithSha256: "06082a8648ce3d040302",
  commonName: "0603550403",
  subjectKeyIdentifier: "0603551d0e",
  keyUsage: "0603551d0f",
  alternativeNames: "0603551d11",
  basicConstraints: "0603551d13",
  authorityKeyIdentifier: "0603551d23",
  extendedKeyUsage: "0603551d25",
  serverAuth: "06082b06010505070301",
  clientAuth: "06082b06010505070302",
};

/** A certificate authority: its own root, or one that another authority has certified. */
export class Authority {
  /** Its own certificate, in PEM. */
  readonly cert: string;
  readonly #name: string;
  readonly #key: KeyObject;
  readonly #publicKey: KeyObject;

  private constructor(name: string, issuer?: Authority) {
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    this.#name = name;
    this.#key = privateKey;
    this.#publicKey = publicKey;
    this.cert = (issuer ?? this).#certifyAuthority(this);
  }

  static create(name = "Bunting tests"): Promise<Authority> {
    return Promise.resolve(new Authority(name));
  }

  /** A new certificate for the same name and key. */
  renewed(): string {
    return this.#certifyAuthority(this);
  }

  /** An authority of which this one says that it is one. */
  intermediate(name = "Bunting tests, intermediate"): Authority {
    return new Authority(name, this);
  }

  /** A certificate with its key, for a server or a client on this machine. */
  issue(wishes: CertificateWishes = {}): Promise<CertificatePair> {
    const { commonName = "localhost", domains = ["127.0.0.1", "localhost"], uris = [] } = wishes;
    const { validFromMs = Date.now() - hourMs, validToMs = Date.now() + 48 * hourMs } = wishes;
    const { privateKey, publicKey } =
      wishes.key === "RSA-2048"
        ? generateKeyPairSync("rsa", { modulusLength: 2048 })
        : generateKeyPairSync("ec", { namedCurve: "P-256" });
    const names = [...domains.map(domainName), ...uris.map((uri) => der(0x86, Buffer.from(uri)))];
    const usages = der(sequenceTag, hex(oids.serverAuth), hex(oids.clientAuth));
    const cert = this.#certify(commonName, publicKey, validFromMs, validToMs, [
      extension(oids.basicConstraints, der(sequenceTag), true),
      extension(oids.keyUsage, der(bitStringTag, hex("0780")), true),
      extension(oids.extendedKeyUsage, usages),
      ...(names.length === 0 ? [] : [extension(oids.alternativeNames, der(sequenceTag, ...names))]),
    ]);
    return Promise.resolve({ cert, key: privateKey.export({ type: "pkcs8", format: "pem" }) as string });
  }

  #certifyAuthority(authority: Authority): string {
    const [fromMs, toMs] = [Date.now() - hourMs, Date.now() + 48 * hourMs];
    return this.#certify(authority.#name, authority.#publicKey, fromMs, toMs, [
      extension(oids.basicConstraints, der(sequenceTag, hex("0101ff")), true),
      extension(oids.keyUsage, der(bitStringTag, hex("0106")), true),
    ]);
  }

  #certify(
    subject: string,
    publicKey: KeyObject,
    fromMs: number,
    toMs: number,
    extensions: readonly Buffer[],
  ): string {
    const algorithm = der(sequenceTag, hex(oids.ecdsaWithSha256));
    const authorityKey = der(sequenceTag, der(0x80, keyId(this.#publicKey)));
    const toBeSigned = der(
      sequenceTag,
      der(0xa0, der(integerTag, Buffer.of(2))),
      der(integerTag, Buffer.concat([Buffer.of(0x40), randomBytes(15)])),
      algorithm,
      nameOf(this.#name),
      der(sequenceTag, timeOf(fromMs), timeOf(toMs)),
      nameOf(subject),
      publicKey.export({ type: "spki", format: "der" }),
      der(
        0xa3,
        der(
          sequenceTag,
          ...extensions,
          extension(oids.subjectKeyIdentifier, der(octetStringTag, keyId(publicKey))),
          extension(oids.authorityKeyIdentifier, authorityKey),
        ),
      ),
    );
    const signature = Buffer.concat([Buffer.of(0), sign("sha256", toBeSigned, this.#key)]);
    const certificate = der(sequenceTag, toBeSigned, algorithm, der(bitStringTag, signature));
    return new X509Certificate(certificate).toString();
  }
}

/** A value with its tag and its length (X.690 8.1). */
function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const value = Buffer.concat(parts);
  const length = value.length.toString(16);
  const long = hex(length.length % 2 === 0 ? length : `0${length}`);
  const head = value.length < 0x80 ? long : Buffer.concat([Buffer.of(0x80 | long.length), long]);
  return Buffer.concat([Buffer.of(tag), head, value]);
}

function hex(text: string): Buffer {
  return Buffer.from(text, "hex");
}

/** Without attributes if there is no common name. */
function nameOf(commonName: string): Buffer {
  if (commonName === "") return der(sequenceTag);
  const attribute = der(sequenceTag, hex(oids.commonName), der(utf8Tag, Buffer.from(commonName)));
  return der(sequenceTag, der(setTag, attribute));
}

function timeOf(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replace(/[-:T]|\.\d+/g, "");
  return der(0x17, Buffer.from(digits.slice(2)));
}

function domainName(domain: string): Buffer {
  if (isIP(domain) === 4) return der(0x87, Buffer.from(domain.split(".").map(Number)));
  return isIP(domain) === 6 ? der(0x87, bytesOfV6(domain)) : der(0x82, Buffer.from(domain));
}

/** Of an address with `::` in it. */
function bytesOfV6(address: string): Buffer {
  const [head = [], tail = []] = address.split("::").map((part) => part.split(":").filter(Boolean));
  const zeros = new Array<string>(8 - head.length - tail.length).fill("");
  return hex([...head, ...zeros, ...tail].map((group) => group.padStart(4, "0")).join(""));
}

function extension(oid: string, value: Buffer, isCritical = false): Buffer {
  const critical = isCritical ? [hex("0101ff")] : [];
  return der(sequenceTag, hex(oid), ...critical, der(octetStringTag, value));
}

function keyId(publicKey: KeyObject): Buffer {
  return createHash("sha1")
    .update(publicKey.export({ type: "spki", format: "der" }))
    .digest();
}
