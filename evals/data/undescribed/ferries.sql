-- plain English names, no description: written for this, of no set
create table port (id integer primary key, name text, country text, berth_count integer);
create table vessel (
    id integer primary key, name text, built_year integer, length_metres real, passenger_capacity integer,
    car_capacity integer, fuel text, home_port_id integer references port (id)
);
create table route (
    id integer primary key, departure_port_id integer references port (id), arrival_port_id integer references port (id),
    distance_nautical_miles real, season text
);
create table sailing (
    id integer primary key, route_id integer references route (id), vessel_id integer references vessel (id),
    departs_at datetime, arrives_at datetime, status text, delay_minutes integer, wave_height_metres real
);
create table passenger (
    id integer primary key, first_name text, last_name text, birth_date date, nationality text, email text
);
create table booking (
    id integer primary key, passenger_id integer references passenger (id), sailing_id integer references sailing (id),
    booked_on date, price real, travel_class text, has_pet integer, payment_method text
);
create table booked_vehicle (
    booking_id integer references booking (id), number_plate text, vehicle_kind text, length_metres real
);
create table crew_member (
    id integer primary key, first_name text, last_name text, rank text, hired_on date, monthly_salary real
);
create table crew_assignment (
    crew_member_id integer references crew_member (id), sailing_id integer references sailing (id), duty text
);
insert into port values (1, 'Oban', 'Scotland', 4), (2, 'Craignure', 'Scotland', 2), (3, 'Stranraer', 'Scotland', 5),
    (4, 'Larne', 'Northern Ireland', 6), (5, 'Roscoff', 'France', 7), (6, 'Rosslare', 'Ireland', 5);
insert into vessel values (1, 'Northern Light', 1988, 121.5, 800, 180, 'diesel', 1),
    (2, 'Sea Lark', 2004, 145.0, 1100, 260, 'diesel', 4), (3, 'Kittiwake', 2019, 98.2, 450, 90, 'electric', 2),
    (4, 'Grey Heron', 2011, 160.3, 1500, 410, 'liquefied gas', 5);
insert into route values (1, 1, 2, 9.1, 'all year'), (2, 3, 4, 31.0, 'all year'), (3, 5, 6, 268.0, 'summer'),
    (4, 2, 1, 9.1, 'winter');
insert into passenger values (1, 'Greta', 'Winkler', '1979-02-03', 'German', 'greta@example.org'),
    (2, 'Paul', 'Moreau', '1990-11-21', 'French', 'paul@example.org'),
    (3, 'Aileen', 'Fraser', '1965-07-30', 'British', 'aileen@example.org'),
    (4, 'Sean', 'Doyle', '2001-01-15', 'Irish', 'sean@example.org');
insert into crew_member values (1, 'Morag', 'Kerr', 'captain', '2003-05-01', 6200),
    (2, 'Luc', 'Petit', 'engineer', '2015-09-12', 4100), (3, 'Nia', 'Hughes', 'deckhand', '2021-03-01', 2700),
    (4, 'Ivan', 'Sokol', 'captain', '2012-02-20', 5900);
with recursive n (i) as (select 1 union all select i + 1 from n where i < 120)
insert into sailing select i, 1 + i % 4, 1 + i % 4, date('2025-01-01', (2 * i) || ' days') || ' 08:00',
    date('2025-01-01', (2 * i) || ' days') || ' 11:30', case when i % 11 = 0 then 'cancelled' else 'completed' end,
    (i * 7) % 45, round((i % 9) * 0.4, 1) from n;
with recursive n (i) as (select 1 union all select i + 1 from n where i < 300)
insert into booking select i, 1 + i % 4, 1 + i % 120, date('2024-12-01', i || ' days'), 20 + i % 80,
    case i % 3 when 0 then 'first' when 1 then 'standard' else 'cabin' end, i % 5 = 0,
    case i % 3 when 0 then 'cash' when 1 then 'card' else 'voucher' end from n;
with recursive n (i) as (select 1 union all select i + 3 from n where i < 290)
insert into booked_vehicle select i, 'KX' || (10 + i) || ' ABC',
    case i % 4 when 0 then 'lorry' when 1 then 'car' when 2 then 'motorcycle' else 'caravan' end, 3 + i % 9 from n;
with recursive n (i) as (select 1 union all select i + 1 from n where i < 120)
insert into crew_assignment select 1 + i % 4, i, case i % 3 when 0 then 'bridge' when 1 then 'engine room' else 'deck' end from n;
