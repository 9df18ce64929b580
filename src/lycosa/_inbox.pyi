from lycosa.inbox import Inbox as Inbox
from lycosa.inbox import Quota as Quota

ON_HEADER: int
ON_BODY: int
ON_CONNECTED: int
