#[test]
fn an_address_is_made_of_what_was_typed() {
    let typed = |words: &str| {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        super::typed(&words)
    };
    for (words, address) in [
        ("bench --db-driver=mysql", "mysql://USER@HOST/DATABASE"),
        (
            "bench --mysql-host=db1 --mysql-user=me --mysql-password=secret --mysql-db=shop",
            "mysql://me@db1/shop",
        ),
        (
            "bench --host db1 --port 3307",
            "mysql://sbtest@db1:3307/sbtest",
        ),
        (
            "bench --mysql-socket=/run/my.sock",
            "'mysql://sbtest@localhost/sbtest?socket=%2Frun%2Fmy.sock'",
        ),
    ] {
        assert_eq!(typed(words), address);
    }
}
