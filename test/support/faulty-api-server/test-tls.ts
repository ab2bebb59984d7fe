import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const directory = fileURLToPath(new URL("../../fixtures/tls/", import.meta.url));

/** The TLS material of test servers, from the checked-in certificates for 127.0.0.1 and localhost. */
export const testTls = {
  key: readFileSync(`${directory}server1.key`),
  cert: readFileSync(`${directory}server1.crt`),
  /** For clients: the authority that signed `cert`. */
  ca: readFileSync(`${directory}ca1.crt`),
  caFile: `${directory}ca1.crt`,
  /** Of the same authority. */
  client: {
    cert: readFileSync(`${directory}client1.crt`, "utf8"),
    key: readFileSync(`${directory}client1.key`, "utf8"),
  },
} as const;
