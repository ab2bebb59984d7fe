import { FlagdProvider } from "@openfeature/flagd-provider";
import { OpenFeature } from "@openfeature/server-sdk";

await OpenFeature.setProviderAndWait(new FlagdProvider());
const client = OpenFeature.getClient();

const user = { targetingKey: "user-9", email: "ada@example.com" };
const isOn = await client.getBooleanValue("new-welcome", false, user);
console.log(`new-welcome = ${isOn}`);

await OpenFeature.close();
