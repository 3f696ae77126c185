"""The bytes of a PKCS12 store in, its certificates and its key out (DER); by `cryptography`, loaded here alone."""

from __future__ import annotations

from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
    pkcs12,
)

from kwcli.net.tls.jks import Jks, StoreError


def read_pkcs12(content: bytes, password: str | None) -> Jks:
    """All that is in a store: with a key its chain, else every certificate as a trusted one. Raises StoreError."""
    try:
        store = pkcs12.load_pkcs12(content, None if password is None else password.encode())
    except ValueError as error:
        if "password" not in str(error).lower():
            raise StoreError(f"it is damaged or of an unknown kind ({error})") from None
        needed = "it needs a password" if password is None else "the password is wrong, or the store is damaged"
        raise StoreError(needed, password="store") from None
    except Exception as error:  # what OpenSSL was built without
        raise StoreError(f"it cannot be read here ({error})") from None
    others = [each.certificate.public_bytes(Encoding.DER) for each in store.additional_certs]
    if store.key is None:
        return Jks(others, [], None)
    own = [store.cert.certificate.public_bytes(Encoding.DER)] if store.cert else []
    return Jks([], [*own, *others], store.key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption()))


def locked(key: str, password: str | None, new_password: str) -> str:
    """A PEM key, perhaps locked with `password`, as one that is locked with another. Raises StoreError."""
    try:
        loaded = load_pem_private_key(key.encode(), None if password is None else password.encode())
    except (ValueError, TypeError) as error:
        raise StoreError(f"the key cannot be read ({error})", password="key") from None
    text = loaded.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(new_password.encode()))
    return text.decode()
