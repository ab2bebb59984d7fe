import dev.openfeature.contrib.providers.flagd.FlagdProvider;
import dev.openfeature.sdk.ImmutableContext;
import dev.openfeature.sdk.OpenFeatureAPI;
import dev.openfeature.sdk.Value;
import java.util.Map;

public class Welcome {
    public static void main(String[] args) {
        var api = OpenFeatureAPI.getInstance();
        api.setProviderAndWait(new FlagdProvider());
        var client = api.getClient();

        var user = new ImmutableContext("user-9", Map.of("email", new Value("ada@example.com")));
        boolean isOn = client.getBooleanValue("new-welcome", false, user);
        System.out.println("new-welcome = " + isOn);

        api.shutdown();
        System.exit(0); // Threads of the SDK would keep the process for another minute.
    }
}
