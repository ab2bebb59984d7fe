import type { SecretsRead } from "@bunting/remote";
import { readPemFile } from "@bunting/runtime";
import type { RemoteSourceConfig } from "../source-config.js";
import { tokenFileOf } from "../source-token.js";

const maxCertificateBytes = 1024 * 1024;

/** Reads what a source shows its remote, and whom it trusts, from files that something else replaces. The promise never rejects. */
export async function readCredentialFiles(
  config: Pick<RemoteSourceConfig, "tokenFile" | "tokenBinding" | "certPath">,
): Promise<SecretsRead> {
  try {
    const credential = await tokenFileOf(config)?.read();
    const { certPath } = config;
    const ca = certPath === "" ? undefined : await authoritiesOf(certPath);
    return {
      kind: "read",
      values: { ...(credential === undefined ? {} : { credential }), ...(ca === undefined ? {} : { ca }) },
    };
  } catch (error) {
    return { kind: "unusable", failure: { reason: "Credentials", message: (error as Error).message } };
  }
}

async function authoritiesOf(path: string): Promise<string> {
  const pem = await readPemFile(path, "certificate", maxCertificateBytes).catch((cause: unknown) => {
    throw new Error(`the file ${path} of "certPath" can't be used: ${(cause as Error).message}`, { cause });
  });
  return pem.toString();
}
