"""The fingerprint of a camera's TLS certificate, and the CAs of a site's.

Going back forgets both: cameras that were accepted by them are not, until their issuer is one of the host's.
"""

from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.execute("ALTER TABLE cameras ADD COLUMN tls_fingerprint text")
    op.execute("ALTER TABLE sites ADD COLUMN tls_ca text")


def downgrade() -> None:
    op.execute("ALTER TABLE cameras DROP COLUMN tls_fingerprint")
    op.execute("ALTER TABLE sites DROP COLUMN tls_ca")
