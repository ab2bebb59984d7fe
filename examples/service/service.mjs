import { createServer } from "node:http";
import { FlagdProvider } from "@openfeature/flagd-provider";
import { OpenFeature } from "@openfeature/server-sdk";

// Waits ten seconds for the agent. Without it the service starts all the same, and has the flags as soon as the agent has.
await OpenFeature.setProviderAndWait(new FlagdProvider({ deadlineMs: 10_000 })).catch(console.error);
const flags = OpenFeature.getClient();

const server = createServer(async (request, response) => {
  const user = new URL(request.url, "http://localhost").searchParams.get("user") ?? "";
  const isNew = await flags.getBooleanValue("new-checkout", false, { targetingKey: user });
  response.end(isNew ? "the new checkout\n" : "the old checkout\n");
});
server.listen(process.env.PORT ?? 3000);
