use open_feature::{EvaluationContext, OpenFeature};
use open_feature_flagd::{FlagdOptions, FlagdProvider};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = FlagdOptions {
        cache_settings: None, // It would answer the same for a minute: it hears of no edits.
        ..Default::default()
    };
    let provider = FlagdProvider::new(options).await?;
    let mut api = OpenFeature::singleton_mut().await;
    api.set_provider(provider).await;
    let client = api.create_client();
    drop(api);

    let user = EvaluationContext::default()
        .with_targeting_key("user-9")
        .with_custom_field("email", "ada@example.com");
    let is_on = client
        .get_bool_value("new-welcome", Some(&user), None)
        .await
        .unwrap_or(false);
    println!("new-welcome = {is_on}");
    Ok(())
}
