import dev.openfeature.contrib.providers.flagd.Config;
import dev.openfeature.contrib.providers.flagd.FlagdOptions;
import dev.openfeature.contrib.providers.flagd.FlagdProvider;
import dev.openfeature.sdk.Client;
import dev.openfeature.sdk.FlagEvaluationDetails;
import dev.openfeature.sdk.OpenFeatureAPI;
import java.io.BufferedReader;
import java.io.InputStreamReader;

/** Evaluates the string flag that each line of its input names, with the rpc provider and its cache. Prints value, reason and error code. */
public final class ProviderProbe {
    public static void main(String[] args) throws Exception {
        FlagdOptions options = FlagdOptions.builder()
                .resolverType(Config.Resolver.RPC)
                .host("127.0.0.1")
                .port(Integer.parseInt(args[0]))
                .streamDeadlineMs(Integer.parseInt(args[1]))
                .deadline(5000)
                .cacheType("lru")
                .build();
        OpenFeatureAPI api = OpenFeatureAPI.getInstance();
        api.setProviderAndWait(new FlagdProvider(options));
        Client client = api.getClient();
        System.out.println("ready");
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String key = lines.readLine(); key != null; key = lines.readLine()) {
            FlagEvaluationDetails<String> details = client.getStringDetails(key, "none");
            System.out.println(details.getValue() + " " + details.getReason() + " " + details.getErrorCode());
        }
        api.shutdown();
        System.exit(0);
    }
}
