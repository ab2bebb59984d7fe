import { credentials, type ChannelCredentials } from "@grpc/grpc-js";
import { readPemFile } from "@bunting/runtime";

/** Paths of files in PEM; "" for none. */
export interface TlsFiles {
  /** The certificates of the authorities to trust; without, those of Node. */
  readonly certPath: string;
  /** The certificate that the client presents, and its private key. */
  readonly clientCertPath: string;
  readonly clientKeyPath: string;
}

/** Names of the options or fields that name the files, for messages. */
export type TlsFileNames = Readonly<Record<keyof TlsFiles, string>>;

/** Bundles of all public authorities take some 300 KB. */
const maxFileBytes = 4 * 1024 * 1024;

/**
 * Reads the files, which is done for each connection, so that renewed ones are used without a restart.
 *
 * @throws Error that names the file and its fault
 */
export async function grpcTls(
  { certPath, clientCertPath, clientKeyPath }: TlsFiles,
  names: TlsFileNames,
): Promise<ChannelCredentials> {
  const authorities = certPath === "" ? null : await readPem(certPath, "certificate", names.certPath);
  if (clientCertPath === "") return secure([authorities], `${names.certPath} ${certPath}`);
  const cert = await readPem(clientCertPath, "certificate", names.clientCertPath);
  const key = await readPem(clientKeyPath, "private key", names.clientKeyPath);
  // First by itself, so that the message names the files that don't fit.
  secure(
    [null, key, cert],
    `${names.clientCertPath} ${clientCertPath} with ${names.clientKeyPath} ${clientKeyPath}`,
  );
  return secure([authorities, key, cert], `${names.certPath} ${certPath}`);
}

function secure(pems: Parameters<typeof credentials.createSsl>, what: string): ChannelCredentials {
  try {
    return credentials.createSsl(...pems);
  } catch (cause) {
    throw new Error(`${what} can't be used: ${(cause as Error).message}`, { cause });
  }
}

async function readPem(path: string, kind: "certificate" | "private key", name: string): Promise<Buffer> {
  try {
    return await readPemFile(path, kind, maxFileBytes);
  } catch (cause) {
    throw new Error(`${name} ${path} can't be used: ${(cause as Error).message}`, { cause });
  }
}
