//! Where the listeners listen, and who may.

use secrecy::{ExposeSecret as _, SecretString};

use super::judge::{Judge, Judged, Place, Scope};
use super::values;
use crate::config::address;
use crate::config::settings::ListenAddress;

/// What the listeners need.
pub(super) struct Endpoints {
    pub(super) listen: ListenAddress,
    pub(super) admin: Option<ListenAddress>,
    pub(super) token: Option<SecretString>,
}

/// Reads and judges them together.
pub(super) fn endpoints(judge: &mut Judge<'_>) -> Endpoints {
    let nowhere = || ListenAddress::Unix(std::path::PathBuf::new());
    let listen = judge.read(Scope::Program, "listen", |_, value| address::parse(values::text(value)?), nowhere());
    let admin = judge.read(Scope::Program, "admin", |_, value| admin_address(values::text(value)?), None);
    let token_given = judge.find(Scope::Program, "token").map(|(_, place)| place);
    let token = judge.secret(Scope::Program, "token");
    if let (Some(place), Some(token)) = (&token_given, &token) {
        judge_token(judge, place, token);
    }
    // Somebody who wanted a token and got it wrong is told about that only.
    if listen.valid && !address::is_local(&listen.value) && token_given.is_none() {
        let problem = "is reachable from other machines, which needs a token: set token_file, or listen on 127.0.0.1";
        judge.object(&listen.place, problem);
    }
    refuse_collision(judge, &listen, &admin);
    Endpoints { listen: listen.value, admin: admin.value, token }
}

fn admin_address(text: &str) -> Result<Option<ListenAddress>, String> {
    if text == "off" {
        Ok(None)
    } else {
        address::parse(text).map(Some).map_err(|problem| format!("{problem}, or off"))
    }
}

/// What can stand behind `Authorization: Bearer`.
fn judge_token(judge: &mut Judge<'_>, place: &Place, token: &SecretString) {
    let token = token.expose_secret();
    if token.is_empty() {
        judge.object(place, "must not be empty; leave it out to serve without a token");
    } else if !token.chars().all(|c| c.is_ascii_graphic()) {
        judge.object(place, "may hold only visible ASCII characters, no spaces");
    }
}

fn refuse_collision(judge: &mut Judge<'_>, listen: &Judged<ListenAddress>, admin: &Judged<Option<ListenAddress>>) {
    let Some(admin_address) = &admin.value else { return };
    if listen.valid && admin.valid && address::collide(&listen.value, admin_address) {
        let problem = format!("collides with listen = {} ({})", listen.place.shown, listen.place.origin);
        judge.object(&admin.place, format!("{problem}; give each an address of its own, or set admin to off"));
    }
}
