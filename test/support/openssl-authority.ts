import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { CertificatePair } from "./certificates.js";

/** A certificate authority that the `openssl` command makes and issues from, as an operator may by hand. Remove it after the test. */
export class OpensslAuthority {
  readonly #directory = mkdtempSync(path.join(tmpdir(), "bunting-openssl-"));
  #issued = 0;

  constructor(name: string) {
    this.#run(...key("ca.key"));
    this.#run(
      ...["req", "-x509", "-new", "-key", "ca.key", "-days", "2", "-subj", `/CN=${name}`, "-out", "ca.crt"],
    );
  }

  /** Its own certificate, in PEM. */
  get cert(): string {
    return this.#read("ca.crt");
  }

  /** A certificate with its key for these names, written as openssl does: `URI:spiffe://…`, `DNS:localhost`. */
  issue(...alternativeNames: readonly string[]): CertificatePair {
    const name = String(++this.#issued);
    const extensions = [
      "basicConstraints=CA:FALSE",
      "keyUsage=digitalSignature",
      "extendedKeyUsage=serverAuth,clientAuth",
      `subjectAltName=${alternativeNames.join(",")}`,
    ];
    writeFileSync(path.join(this.#directory, `${name}.ext`), extensions.join("\n"));
    this.#run(...key(`${name}.key`));
    this.#run(...["req", "-new", "-key", `${name}.key`, "-subj", `/CN=${name}`, "-out", `${name}.csr`]);
    const by = ["-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2"];
    this.#run("x509", "-req", "-in", `${name}.csr`, ...by, "-extfile", `${name}.ext`, "-out", `${name}.crt`);
    return { cert: this.#read(`${name}.crt`), key: this.#read(`${name}.key`) };
  }

  remove(): void {
    rmSync(this.#directory, { recursive: true });
  }

  #run(...args: readonly string[]): void {
    execFileSync("openssl", args, { cwd: this.#directory, stdio: "pipe" });
  }

  #read(file: string): string {
    return readFileSync(path.join(this.#directory, file), "utf8");
  }
}

function key(file: string): string[] {
  return ["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", file];
}
