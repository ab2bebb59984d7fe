import { OFREPWebProvider } from "@openfeature/ofrep-web-provider";
import { OpenFeature } from "@openfeature/web-sdk";

await OpenFeature.setContext({ targetingKey: "user-9", email: "ada@example.com" });
await OpenFeature.setProviderAndWait(new OFREPWebProvider({ baseUrl: "http://localhost:8016" }));
const client = OpenFeature.getClient();

const isOn = client.getBooleanValue("new-welcome", false);
console.log(`new-welcome = ${isOn}`);

await OpenFeature.close();
