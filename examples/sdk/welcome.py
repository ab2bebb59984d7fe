from openfeature import api
from openfeature.contrib.provider.flagd import FlagdProvider
from openfeature.evaluation_context import EvaluationContext

api.set_provider_and_wait(FlagdProvider())
client = api.get_client()

user = EvaluationContext("user-9", {"email": "ada@example.com"})
is_on = client.get_boolean_value("new-welcome", False, user)
print(f"new-welcome = {str(is_on).lower()}")

api.shutdown()
