use serde_json::value::RawValue;

use super::*;

fn tool(name: &str, rest: &str) -> UpstreamTool {
    let text = format!(r#"{{"inputSchema":{{"type":"object"}},"name":{},"x":{rest}}}"#, serde_json::json!(name));
    UpstreamTool {
        name: name.to_owned(),
        definition: RawValue::from_string(text).unwrap(),
        read_only: false,
        idempotent: false,
    }
}

fn names(catalogue: &Catalogue) -> Vec<String> {
    catalogue.snapshot().tools().iter().map(|tool| tool.public_name.clone()).collect()
}

fn page(catalogue: &Catalogue) -> String {
    catalogue.snapshot().page(None).tools.to_string()
}

#[test]
fn two_servers_with_the_same_tool_keep_both_whatever_happens_to_one() {
    let catalogue = Catalogue::new(Naming::Prefixed);
    assert!(catalogue.replace("mail", vec![tool("send_email", "1")]).changed);
    assert!(catalogue.replace("crm", vec![tool("send_email", "2")]).changed);
    let both = page(&catalogue);
    assert_eq!(names(&catalogue), ["crm__send_email", "mail__send_email"]);
    assert!(catalogue.withdraw("mail"));
    let snapshot = catalogue.snapshot();
    assert_eq!(snapshot.find("crm__send_email").unwrap().server.as_ref(), "crm");
    assert!(snapshot.find("mail__send_email").is_none());
    catalogue.replace("mail", vec![tool("send_email", "1")]);
    assert_eq!(page(&catalogue), both);
}

#[test]
fn the_same_tools_in_another_order_are_no_change() {
    let catalogue = Catalogue::new(Naming::Prefixed);
    let mut seen = catalogue.subscribe();
    catalogue.replace("s", vec![tool("a", "1"), tool("b", "2")]);
    assert!(seen.has_changed().unwrap());
    let before = seen.borrow_and_update().clone();
    assert!(!catalogue.replace("s", vec![tool("b", "2"), tool("a", "1")]).changed);
    assert!(!seen.has_changed().unwrap());
    assert!(Arc::ptr_eq(&before, &catalogue.snapshot()));
    assert!(catalogue.replace("s", vec![tool("b", "2"), tool("a", "1.0")]).changed, "one byte differs");
    assert!(!catalogue.withdraw("other"));
}

#[test]
fn a_bad_tool_is_reported_and_never_hides_the_others() {
    let catalogue = Catalogue::new(Naming::Prefixed);
    let mut broken = tool("broken", "1");
    broken.definition = RawValue::from_string(r#"{"name":"broken"}"#.to_owned()).unwrap();
    let tools = vec![tool("", "1"), broken, tool("twice", "1"), tool("twice", "2"), tool("good", "1")];
    let change = catalogue.replace("s", tools);
    assert_eq!(names(&catalogue), ["s__good", "s__twice"]);
    let rejected: Vec<_> = change.rejected.iter().map(|tool| tool.tool.as_str()).collect();
    assert_eq!((change.served, rejected), (2, vec!["", "broken", "twice"]));
    assert!(page(&catalogue).contains(r#""name":"s__twice","x":1}"#), "the first one stays");
}

#[test]
fn a_call_goes_to_the_name_the_server_knows() {
    let catalogue = Catalogue::new(Naming::Prefixed);
    let original = "a.b/c \u{1f600}";
    catalogue.replace("s", vec![tool(original, "1")]);
    let [public] = &names(&catalogue)[..] else { panic!("one tool") };
    assert_eq!(catalogue.snapshot().find(public).unwrap().upstream_name, original);
}

#[test]
fn plain_names_are_the_servers_own() {
    let catalogue = Catalogue::new(Naming::Plain);
    catalogue.replace("s", vec![tool("echo", "1"), tool("a.b", "1")]);
    assert_eq!(names(&catalogue)[1], "echo");
    assert!(names(&catalogue)[0].starts_with("a_b_"), "{:?}", names(&catalogue));
}
