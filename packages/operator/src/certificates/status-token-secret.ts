import { proxyNames } from "../desired/proxy/proxy-settings.js";
import { base64, type SecretContent } from "./secret-content.js";

/** The name of the file that the proxy reads. */
export const statusTokensKey = "tokens";

/** The Secret with the tokens by which the operator reads the status of the proxy: one a line, as the proxy's --status-token-file has them. */
export const statusTokenSecret: SecretContent<string> = {
  name: proxyNames.statusTokens,
  what: "the token for the status of the proxy",
  read: ({ data = {} }) => {
    const text = Buffer.from(data[statusTokensKey] ?? "", "base64").toString("utf8");
    const tokens = text.split("\n").filter((line) => line !== "");
    // A short one could be guessed.
    if (!tokens.every((token) => /^[\w-]{43,128}$/.test(token)))
      throw new Error(`${statusTokensKey} has something else than tokens`);
    return tokens;
  },
  dataOf: (tokens) => ({ [statusTokensKey]: base64(tokens.map((token) => `${token}\n`).join("")) }),
};
