from lycosa.fetch.receive import Inbox as Inbox
from lycosa.fetch.receive import Quota as Quota

ON_HEADER: int
ON_BODY: int
ON_CONNECTED: int
