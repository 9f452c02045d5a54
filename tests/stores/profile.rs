//! What is sent with the keys of a profile: asked of a listener that writes down the requests.

use crate::kit::Tool;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

/// Refuses every request, and keeps its head.
fn listener() -> (u16, Arc<Mutex<String>>) {
    let socket = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = socket.local_addr().expect("an address").port();
    let seen = Arc::<Mutex<String>>::default();
    let kept = seen.clone();
    std::thread::spawn(move || {
        for mut client in socket.incoming().flatten() {
            let mut head = Vec::new();
            let mut some = [0; 4096];
            while !head.windows(4).any(|w| w == b"\r\n\r\n") {
                match client.read(&mut some) {
                    Ok(n @ 1..) => head.extend_from_slice(&some[..n]),
                    _ => break,
                }
            }
            let head = String::from_utf8_lossy(&head).to_lowercase();
            kept.lock().expect("a lock").push_str(&head);
            let _ = client.write_all(
                b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            );
        }
    });
    (port, seen)
}

#[test]
fn a_profile_brings_its_own_keys_and_endpoint() {
    let (port, seen) = listener();
    let home = tempfile::tempdir().expect("a directory");
    let aws = home.path().join(".aws");
    std::fs::create_dir(&aws).expect("made");
    let config = format!("[profile far]\nregion = eu-9\nendpoint_url = http://127.0.0.1:{port}\n");
    std::fs::write(aws.join("config"), config).expect("written");
    let keys = "[far]\naws_access_key_id = ProfileKey\naws_secret_access_key = profile-secret\n";
    std::fs::write(aws.join("credentials"), keys).expect("written");
    let list = || {
        Tool::new([
            "list",
            "--repository",
            "s3://bucket/x?profile=far&path-style=true",
        ])
        .env("HOME", home.path())
        .env("AWS_ACCESS_KEY_ID", "OtherKey")
        .env("AWS_SECRET_ACCESS_KEY", "other-secret")
        .env("AWS_SESSION_TOKEN", "other-token")
    };
    let said = list().run().code(8);
    said.says(&["credentials"]);
    let heads = std::mem::take(&mut *seen.lock().expect("a lock"));
    assert!(heads.contains("credential=profilekey/"), "{heads}");
    assert!(heads.contains("/eu-9/s3/"), "{heads}");
    assert!(!heads.contains("other"), "{heads}");
    // The environment's region wins, as with other tools of that service.
    list().env("AWS_REGION", "eu-7").run().code(8);
    let heads = std::mem::take(&mut *seen.lock().expect("a lock"));
    assert!(heads.contains("/eu-7/s3/"), "{heads}");
}
