"""Lookup of the install kit of a backend."""

import json
import ssl
import urllib.error
import urllib.parse
import urllib.request

from ansible.plugins.lookup import LookupBase

DOCUMENTATION = """
name: deployd_kit
short_description: Reveals the install kit of a backend
description:
  - Asks the tenancy service, as an administrator and from the control node.
  - Each reveal supersedes the grant of the one before; the role deployd looks it up once, and only for a host that needs it.
options:
  _terms: {description: Ids of backends., required: true}
  tenancy_url: {description: Address of the tenancy service., required: true, type: str}
  port: {description: Its port where the address names none., default: 443, type: int}
  token: {description: An administrator's token., required: true, type: str}
  ca: {description: PEM text of the authority that it is trusted by; without it the system's., default: '', type: str}
"""

RETURN = """
_list: {description: For each backend its kit; or a dictionary with the key `fault`, which tells why there is none., type: list}
"""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """The token goes to the address that was given and to no other."""

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        return None


class LookupModule(LookupBase):
    def run(self, terms, variables=None, **kwargs):
        self.set_options(var_options=variables, direct=kwargs)
        return [self._kit(str(backend)) for backend in terms]

    def _kit(self, backend):
        parts = urllib.parse.urlsplit(self.get_option("tenancy_url").rstrip("/"))
        if parts.scheme != "https" and parts.hostname not in ("127.0.0.1", "::1", "localhost"):
            return {"fault": "the administrator's token goes to https:// addresses only"}
        if parts.port is None and parts.scheme == "https":
            parts = parts._replace(netloc="%s:%d" % (parts.netloc, self.get_option("port")))
        path = "%s/v1/backends/%s/agent/install" % (parts.path, urllib.parse.quote(backend, safe=""))
        request = urllib.request.Request(
            urllib.parse.urlunsplit(parts._replace(path=path)),
            headers={"Authorization": "Bearer " + self.get_option("token").strip()},
        )
        trust = ssl.create_default_context(cadata=self.get_option("ca") or None)
        opener = urllib.request.build_opener(_NoRedirect, urllib.request.HTTPSHandler(context=trust))
        try:
            with opener.open(request, timeout=30) as answer:
                kit = json.load(answer)
        except urllib.error.HTTPError as error:
            why = {401: "the administrator's token is refused", 404: "there is no such backend"}
            return {"fault": "%d: %s" % (error.code, why.get(error.code, error.reason))}
        except (OSError, ValueError) as error:
            return {"fault": str(getattr(error, "reason", error))}
        return kit if isinstance(kit, dict) and kit.get("bootstrap_jwt") else {"fault": "the answer is no install kit"}
